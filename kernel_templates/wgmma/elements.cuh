// SPDX-License-Identifier: Apache-2.0
// What becomes of pairs of sums: D = alpha * sum + beta * C and the epilogue, in fp32, rounded once
// when they are stored.
//
// A pair is of one row of left and two neighbouring columns of right; with SWAP left's rows are
// columns of D. beta == 0 never reads C.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/wgmma/schedule.cuh"
#include "kernel_templates/wgmma/tensor_copy.cuh"

namespace gemm_tune::wgmma {

template <int TYPE>
__device__ inline float element_at(const void* matrix, long long at) {
  if constexpr (TYPE == kTypeF32) {
    return static_cast<const float*>(matrix)[at];
  } else {
    return element_to_float<TYPE>(static_cast<const Bits16*>(matrix)[at]);
  }
}

// Where C and D have the element of a row of left and a column of right.
__device__ inline long long place_of(const Args& args, int batch, int row, int col) {
  const long long in_matrix = kP.SWAP != 0 ? col * args.ldd + row : row * args.ldd + col;
  return batch * args.stride_d + in_matrix;
}

// 0 where A and B are not read and the sums are anything.
__device__ inline float factor_of_sums(const Args& args) {
  return k_blocks_of(args) == 0 ? 0.0f : args.alpha;
}
__device__ inline float scaled(float factor, float sum) {
  return factor == 0.0f ? 0.0f : factor * sum;
}

__device__ inline void add_c(const Args& args, float& x, int batch, int row, int col) {
  const void* const c = kInPlace ? args.D : args.C;
  x += args.beta * element_at<kP.CD>(c, place_of(args, batch, row, col));
}

// Of the pair's elements that exist.
__device__ inline void apply_epilogue(const Args& args, float* x, int batch, int row, int col) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (col + i >= args.cols) break;
    float value[1] = {x[i]};
    const int d_row = kP.SWAP != 0 ? col + i : row, d_col = kP.SWAP != 0 ? row : col + i;
    EpilogueChain::apply<kP.CD>(value, {d_row, d_col, place_of(args, batch, row, col + i)},
                                args.operands);
    x[i] = value[0];
  }
}

// Whether a pair of D is one access: where rows of D need not be aligned, its address decides.
template <class Element>
__device__ inline bool is_aligned_pair(const Element* pair) {
  return !has_own_alignment_of_d(kP) ||
         reinterpret_cast<unsigned long long>(pair) % (2 * sizeof(Element)) == 0;
}

__device__ inline void store_pair(const Args& args, const float* x, int batch, int row, int col) {
  if constexpr (kP.SWAP == 0) {
    if (col + 1 < args.cols) {
      const long long at = place_of(args, batch, row, col);
      if constexpr (kP.CD == kTypeF32) {
        float* const pair = static_cast<float*>(args.D) + at;
        if (is_aligned_pair(pair)) {
          *reinterpret_cast<float2*>(pair) = {x[0], x[1]};
        } else {
          pair[0] = x[0];
          pair[1] = x[1];
        }
      } else {
        Bits16* const pair = static_cast<Bits16*>(args.D) + at;
        const unsigned both = pack_pair<kP.CD>(x[0], x[1]);
        if (is_aligned_pair(pair)) {
          *reinterpret_cast<unsigned*>(pair) = both;
        } else {
          pair[0] = static_cast<Bits16>(both);
          pair[1] = static_cast<Bits16>(both >> 16);
        }
      }
      return;
    }
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    if (col + j >= args.cols) return;
    const long long at = place_of(args, batch, row, col + j);
    if constexpr (kP.CD == kTypeF32) {
      static_cast<float*>(args.D)[at] = x[j];
    } else {
      static_cast<Bits16*>(args.D)[at] = element_from_float<kP.CD>(x[j]);
    }
  }
}

}  // namespace gemm_tune::wgmma
