// Copies one tile of a row-major matrix from global into shared memory, by all threads of a CTA.
#pragma once

#include "kernel_templates/device/vec.cuh"

namespace gemm_tune {

// Where element (row, col) of the tile goes in shared memory.
enum class TileOrder { row_major, transposed };

// src points at the tile's first element. Elements at or past rows_left or cols_left are stored as
// zero and not read; without PREDICATED both must cover the tile. SMEM_LD is the distance between
// two rows of the array in shared memory (two columns of the tile when transposed).
template <int ROWS, int COLS, int THREADS, int VEC, bool PREDICATED, TileOrder ORDER, int SMEM_LD>
__device__ inline void load_tile(float* smem, const float* src, long long ld, int rows_left,
                                 int cols_left) {
  constexpr int kVecsPerRow = COLS / VEC;
  constexpr int kVecs = ROWS * kVecsPerRow;
  constexpr int kPasses = (kVecs + THREADS - 1) / THREADS;
  static_assert(COLS % VEC == 0);
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int index = pass * THREADS + static_cast<int>(threadIdx.x);
    if (kVecs % THREADS != 0 && index >= kVecs) break;
    const int row = index / kVecsPerRow;
    const int col = index % kVecsPerRow * VEC;
    Vec<VEC> v;
    if constexpr (PREDICATED) {
      const int left = in_bounds(row, rows_left) ? cols_left - col : 0;
      v = load_vec_edge<VEC>(src + row * ld + col, left);
    } else {
      v = load_vec<VEC>(src + row * ld + col);
    }
    if constexpr (ORDER == TileOrder::row_major) {
      if constexpr (SMEM_LD % VEC == 0) {
        store_vec<VEC>(smem + row * SMEM_LD + col, v);
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) smem[row * SMEM_LD + col + i] = v.x[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < VEC; ++i) smem[(col + i) * SMEM_LD + row] = v.x[i];
    }
  }
}

}  // namespace gemm_tune
