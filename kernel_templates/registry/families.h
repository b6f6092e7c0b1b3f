// SPDX-License-Identifier: Apache-2.0
// The kernel families, from the plainest rung to the fastest. Adding one is its folder and a line
// here.
#pragma once

#include "kernel_templates/family.h"

// clang-format off
#define GT_FAMILIES(each) \
  each(naive)             \
  each(smem_tiled)        \
  each(coarsened_1d)      \
  each(tiled_2d)          \
  each(vectorized_2d)     \
  each(warp_tiled)        \
  each(skinny)            \
  each(mma)               \
  each(wgmma)             \
  each(mma_parts)         \
  each(wgmma_parts)
// clang-format on

// Those that say in which order a config adds up (order_of_sums.h).
#define GT_FAMILIES_WITH_ORDER(each) each(naive) each(warp_tiled) each(mma) each(wgmma)

// Each is defined in the family.cpp of its folder.
#define GT_DECLARE_FAMILY(name) \
  namespace gemm_tune::name {   \
  KernelFamily family();        \
  }
GT_FAMILIES(GT_DECLARE_FAMILY)
#undef GT_DECLARE_FAMILY
#define GT_DECLARE_ORDER(name)                             \
  namespace gemm_tune::name {                              \
  std::optional<std::string> order_of_sums(Values values); \
  }
GT_FAMILIES_WITH_ORDER(GT_DECLARE_ORDER)
#undef GT_DECLARE_ORDER

namespace gemm_tune {

// These. In a source of its own, so that a test program can link another list in its place.
std::vector<KernelFamily> built_in_families();

}  // namespace gemm_tune
