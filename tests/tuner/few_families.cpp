// SPDX-License-Identifier: Apache-2.0
// Replaces kernel_templates/families.cpp by the families of the tutorials' rungs only. A test that
// starts the program some hundred times then does not enumerate the large spaces each time.
#include "kernel_templates/naive.cuh"
#include "kernel_templates/registry.h"
#include "kernel_templates/smem_tiled.cuh"
#include "kernel_templates/tiled_2d.cuh"
#include "kernel_templates/vectorized_2d.cuh"

namespace gemm_tune {

std::span<const KernelFamily> families() {
  static const std::vector<KernelFamily> all = {naive::family(), smem_tiled::family(),
                                                tiled_2d::family(), vectorized_2d::family()};
  return all;
}

}  // namespace gemm_tune
