// SPDX-License-Identifier: Apache-2.0
// The program's families and the faulty one, in place of kernel_templates/registry/families.cpp.
#include "kernel_templates/registry/families.h"

#include "kernel_templates/registry/registry.h"
#include "tests/faults/faulty/family.h"

namespace gemm_tune {

std::vector<KernelFamily> built_in_families() {
  return {
      naive::family(),    smem_tiled::family(),    coarsened_1d::family(),
      tiled_2d::family(), vectorized_2d::family(), faulty::family(),
  };
}

}  // namespace gemm_tune
