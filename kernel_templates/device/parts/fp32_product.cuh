// SPDX-License-Identifier: Apache-2.0
// The product in fp32, for operands whose parts would lose too much: what plain fp32 kernels
// compute, each element's sum along K in order.
//
// Threads compute 8 x 8 elements each, of tiles of THREADS / 2 x 128.
#pragma once

#include "kernel_templates/device/element/packed.cuh"
#include "kernel_templates/device/parts/output.cuh"
#include "kernel_templates/device/tile/named_barrier.cuh"

namespace gemm_tune::parts {

template <int THREADS, bool A_ALONG_K, bool B_ALONG_K, int TYPE_A = kTypeF32, int TYPE_B = kTypeF32>
class Fp32Product {
 public:
  static constexpr int kFloatsOfA = 8 * (THREADS / 2), kFloatsOfB = 8 * 128;

  // a_smem, b_smem: of so many floats. thread: of those that compute.
  __device__ Fp32Product(const Args& args, float* a_smem, float* b_smem, int thread)
      : args_(args),
        a_(a_smem),
        b_(b_smem),
        thread_(thread),
        row_(thread / kThreadsOfRow * kEdge),
        col_(thread % kThreadsOfRow * kEdge) {}

  __device__ void run() const {
    const int row_tiles = (args_.M - 1) / kRows + 1, col_tiles = (args_.N - 1) / kCols + 1;
    const int in_matrix = row_tiles * col_tiles;
    for (int tile = static_cast<int>(blockIdx.x); tile < in_matrix * args_.tiles.matrices;
         tile += static_cast<int>(gridDim.x)) {
      const int batch = tile / in_matrix, number = tile % in_matrix;
      multiply(batch, number % row_tiles * kRows, number / row_tiles * kCols);
    }
  }

 private:
  static constexpr int kEdge = 8, kDepth = 8, kCols = 128, kRows = THREADS / 2;
  static constexpr int kThreadsOfRow = kCols / kEdge;
  static constexpr int kBarrier = 1;
  static_assert(kDepth * kRows == kFloatsOfA && kDepth * kCols == kFloatsOfB);

  __device__ void multiply(int batch, int first_row, int first_col) const {
    const auto* const a = stored<TYPE_A>(args_.A) + batch * args_.stride_a;
    const auto* const b = stored<TYPE_B>(args_.B) + batch * args_.stride_b;
    float sums[kEdge][kEdge] = {};
    for (int k = 0; k < args_.K; k += kDepth) {
      meet(kBarrier, THREADS);
      load<kRows, !A_ALONG_K, TYPE_A>(a_, a, args_.lda, first_row, args_.M, k);
      load<kCols, !B_ALONG_K, TYPE_B>(b_, b, args_.ldb, first_col, args_.N, k);
      meet(kBarrier, THREADS);
#pragma unroll 2
      for (int depth = 0; depth < kDepth; ++depth) {
#pragma unroll
        for (int i = 0; i < kEdge; ++i) {
#pragma unroll
          for (int j = 0; j < kEdge; ++j) {
            sums[i][j] += a_[depth * kRows + row_ + i] * b_[depth * kCols + col_ + j];
          }
        }
      }
    }
    store(Output(args_, batch), sums, first_row + row_, first_col + col_);
  }

  // Written out for one row, not for all: the code shares its cache with the usual product's.
  __device__ void store(const Output& output, const float (&sums)[kEdge][kEdge], int row,
                        int col) const {
#pragma unroll 1
    for (int i = 0; i < kEdge && row + i < args_.M; ++i) {
      float of_row[kEdge] = {};
#pragma unroll
      for (int known = 0; known < kEdge; ++known) {  // registers have no index
        if (known != i) continue;
#pragma unroll
        for (int j = 0; j < kEdge; ++j) of_row[j] = sums[known][j];
      }
#pragma unroll
      for (int j = 0; j < kEdge; ++j) {
        if (col + j < args_.N) output.store(of_row[j], row + i, col + j);
      }
    }
  }

  // kDepth k of LINES lines from the first one on, zeros for what lies outside.
  template <int LINES, bool ACROSS, int TYPE>
  __device__ void load(float* to, const Stored<TYPE>* from, long long ld, int first, int lines,
                       int k) const {
    static_assert(LINES * kDepth % THREADS == 0);
#pragma unroll
    for (int pass = 0; pass < LINES * kDepth / THREADS; ++pass) {
      const int i = pass * THREADS + thread_;
      const int line = ACROSS ? i % LINES : i / kDepth, depth = ACROSS ? i / LINES : i % kDepth;
      const long long row = ACROSS ? k + depth : first + line;
      const int in_row = ACROSS ? first + line : k + depth;
      const bool exists = first + line < lines && k + depth < args_.K;
      to[depth * LINES + line] = exists ? value_of<TYPE>(from[row * ld + in_row]) : 0.0f;
    }
  }

  template <int TYPE>
  __device__ static float value_of(Stored<TYPE> x) {
    if constexpr (TYPE == kTypeF32) {
      return x;
    } else {
      return element_to_float<TYPE>(x);
    }
  }

  const Args& args_;
  float* const a_;
  float* const b_;
  const int thread_, row_, col_;
};

}  // namespace gemm_tune::parts
