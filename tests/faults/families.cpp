// SPDX-License-Identifier: Apache-2.0
// The program's families and the faulty one, in place of kernel_templates/families.cpp.
#include "kernel_templates/coarsened_1d.cuh"
#include "kernel_templates/naive.cuh"
#include "kernel_templates/registry.h"
#include "kernel_templates/smem_tiled.cuh"
#include "kernel_templates/tiled_2d.cuh"
#include "kernel_templates/vectorized_2d.cuh"
#include "tests/faults/faulty.cuh"

namespace gemm_tune {

std::span<const KernelFamily> families() {
  static const std::vector<KernelFamily> all = {
      naive::family(),    smem_tiled::family(),    coarsened_1d::family(),
      tiled_2d::family(), vectorized_2d::family(), faulty::family(),
  };
  return all;
}

}  // namespace gemm_tune
