// SPDX-License-Identifier: Apache-2.0
// The explicit list of kernel families: a new one adds its line here.
//
// A file of its own, so that a test program can link a list with families of its own in its place.
#include "kernel_templates/coarsened_1d.cuh"
#include "kernel_templates/mma.cuh"
#include "kernel_templates/naive.cuh"
#include "kernel_templates/registry.h"
#include "kernel_templates/skinny.cuh"
#include "kernel_templates/smem_tiled.cuh"
#include "kernel_templates/tiled_2d.cuh"
#include "kernel_templates/vectorized_2d.cuh"
#include "kernel_templates/warp_tiled.cuh"

namespace gemm_tune {

std::span<const KernelFamily> families() {
  static const std::vector<KernelFamily> all = {
      naive::family(),         smem_tiled::family(), coarsened_1d::family(), tiled_2d::family(),
      vectorized_2d::family(), warp_tiled::family(), skinny::family(),       mma::family(),
  };
  return all;
}

}  // namespace gemm_tune
