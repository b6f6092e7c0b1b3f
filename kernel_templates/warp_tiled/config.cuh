// SPDX-License-Identifier: Apache-2.0
// The config that is compiled, and how its copies of A and B are made.
#pragma once

#include "kernel_templates/device/copy/narrow_copy.cuh"
#include "kernel_templates/device/copy/slice_copy.cuh"
#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/warp_tiled/params.cuh"

namespace gemm_tune::warp_tiled {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
constexpr bool kPredicated = kP.PRED != 0;
constexpr bool kStepped = kP.STEPPED != 0;
constexpr bool kPointers = kP.POINTERS != 0;

// Elements per access.
constexpr VectorWidths kWidths = access_widths(kP);
constexpr int kVecA = kWidths.a, kVecB = kWidths.b, kVecD = kWidths.cd;

constexpr bool kAnyAsync = is_async(kP, a_along_k(kP)) || is_async(kP, b_along_k(kP));

// Whether NarrowCopy copies an operand.
constexpr bool copies_narrow(int edge, bool along_k, int vec) {
  return kP.LINES != 0 && vec == 1 && (along_k || warps_of_row(edge, kP.BK, threads(kP)) > 0);
}

template <int EDGE, bool ALONG_K, int LD, int VEC, int TYPE>
struct CopyOf {
  using Any = SliceCopy<EDGE, kP.BK, threads(kP), copy_vec(kP, VEC, ALONG_K), ALONG_K,
                        is_async(kP, ALONG_K), kPredicated, LD, kStepped, TYPE>;
  using Narrow =
      NarrowCopy<EDGE, kP.BK, threads(kP), ALONG_K, is_async(kP, ALONG_K), kPredicated, LD>;
  using Type = typename Select<copies_narrow(EDGE, ALONG_K, VEC), Narrow, Any>::Type;
};
using CopyA = CopyOf<kP.BM, a_along_k(kP), a_ld(kP), kVecA, kP.TYPE_A>::Type;
using CopyB = CopyOf<kP.BN, b_along_k(kP), b_ld(kP), kVecB, kP.TYPE_B>::Type;

}  // namespace gemm_tune::warp_tiled
