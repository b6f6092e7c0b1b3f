// SPDX-License-Identifier: Apache-2.0
// Replaces kernel_templates/registry/families.cpp by the families of the tutorials' rungs only. A
// test that starts the program some hundred times then does not enumerate the large spaces each
// time.
#include "kernel_templates/registry/families.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

std::vector<KernelFamily> built_in_families() {
  std::vector<KernelFamily> families = {naive::family(), smem_tiled::family(), tiled_2d::family(),
                                        vectorized_2d::family()};
  // For the tests only: none of these declares parameters that change no registers.
  for (ParamSpec& param : families.back().params) {
    if (param.name == "PAD") param.registers_by = RegistersBy::presence;
    if (param.name == "INTERLEAVE") param.registers_by = RegistersBy::nothing;
  }
  return families;
}

}  // namespace gemm_tune
