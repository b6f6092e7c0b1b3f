// SPDX-License-Identifier: Apache-2.0
// From sums to D: D = alpha * sum + beta * C, and the epilogue on that. beta == 0 never reads C.
#pragma once

#include "kernel_templates/device/call_form.cuh"
#include "kernel_templates/wgmma_f16x3/config.cuh"

namespace gemm_tune::wgmma_f16x3 {

// Of one matrix of the batch.
class Output {
 public:
  __device__ Output(const Args& args, int batch) : args_(args), batch_(batch) {}

  __device__ const float* factors_of_rows() const { return args_.factors + 1LL * batch_ * args_.M; }
  __device__ const float* factors_of_cols() const {
    return args_.factors + 1LL * args_.batch * args_.M + 1LL * batch_ * args_.N;
  }
  __device__ bool has_factors() const { return k_blocks_of(args_) > 0; }
  __device__ int rows() const { return args_.M; }
  __device__ int cols() const { return args_.N; }

  // Whether pairs of neighbours, the first one's column even, lie at multiples of 8 bytes.
  __device__ bool has_pairs() const {
    const unsigned long long bits =
        reinterpret_cast<unsigned long long>(args_.D) / sizeof(float) | args_.ldd | args_.stride_d;
    return bits % 2 == 0;
  }

  __device__ float finished(float sum, int row, int col) const {
    const long long at = place_of(row, col);
    float value[1] = {args_.alpha == 0.0f ? 0.0f : args_.alpha * sum};
    if (args_.beta != 0.0f) value[0] += args_.beta * (kInPlace ? args_.D : args_.C)[at];
    if constexpr (kHasEpilogue) {
      EpilogueChain::apply<kTypeF32>(value, {row, col, at}, args_.operands);
    }
    return value[0];
  }

  __device__ void store(float sum, int row, int col) const {
    args_.D[place_of(row, col)] = finished(sum, row, col);
  }
  __device__ void store_pair(float sum, float next, int row, int col) const {
    const float2 pair = {finished(sum, row, col), finished(next, row, col + 1)};
    *reinterpret_cast<float2*>(args_.D + place_of(row, col)) = pair;
  }

 private:
  __device__ long long place_of(int row, int col) const {
    return batch_ * args_.stride_d + row * args_.ldd + col;
  }

  const Args& args_;
  const int batch_;
};

// A sum of products of scaled lines, as it was before: the smaller factor first, so that nothing
// overflows on the way to a number that does not.
__device__ inline float unscaled(float sum, float factor, float other) {
  return sum * fminf(factor, other) * fmaxf(factor, other);
}

// The sums of a consumer, whose first row and column are these. Thread t has of each 8 columns
// elements 2 (t % 4) and the next one, of rows 16 (t / 32) + t % 32 / 4 and that row + 8 of each
// block.
__device__ inline void store_sums(const Output& output, const Sums& sums, int first_row,
                                  int first_col, int thread) {
  const int own_row = first_row + thread / 32 * 16 + thread % 32 / 4;
  const bool has_pairs = output.has_pairs(), has_factors = output.has_factors();
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = own_row + i * kMmaM + half * 8;
      if (row >= output.rows()) continue;
      const float of_row = has_factors ? output.factors_of_rows()[row] : 0.0f;
#pragma unroll
      for (int block = 0; block < kP.BN; block += 8) {
        const int col = first_col + block + thread % 4 * 2;
        float x[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          if (has_factors && col + j < output.cols()) {
            x[j] = unscaled(sums[i][block / 2 + 2 * half + j], of_row,
                            output.factors_of_cols()[col + j]);
          }
        }
        if (has_pairs && col + 1 < output.cols()) {
          output.store_pair(x[0], x[1], row, col);
        } else {
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            if (col + j < output.cols()) output.store(x[j], row, col + j);
          }
        }
      }
    }
  }
}

}  // namespace gemm_tune::wgmma_f16x3
