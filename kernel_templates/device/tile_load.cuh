// Copies one tile of a row-major matrix from global into shared memory, by all threads of a CTA.
#pragma once

#include "kernel_templates/device/tile_map.cuh"
#include "kernel_templates/device/vec.cuh"

namespace gemm_tune {

// src points at the tile's first element. Elements at or past rows_left or cols_left are stored as
// zero and not read; without PREDICATED both must cover the tile. For ORDER and SMEM_LD see
// smem_index().
template <int ROWS, int COLS, int THREADS, int VEC, bool PREDICATED, TileOrder ORDER, int SMEM_LD>
__device__ inline void load_tile(float* smem, const float* src, long long ld, int rows_left,
                                 int cols_left) {
  constexpr int kVecs = ROWS * (COLS / VEC);
  constexpr int kPasses = (kVecs + THREADS - 1) / THREADS;
  constexpr int kStoreVec = smem_store_vec(ORDER, VEC, SMEM_LD);
  static_assert(COLS % VEC == 0);
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int index = pass * THREADS + static_cast<int>(threadIdx.x);
    if (kVecs % THREADS != 0 && index >= kVecs) break;  // no edge: fewer vectors than threads
    const auto [row, col] = tile_position(index, COLS, VEC);
    Vec<VEC> v;
    if constexpr (PREDICATED) {
      const int left = in_bounds(row, rows_left) ? cols_left - col : 0;
      v = load_vec_edge<VEC>(src + row * ld + col, left);
    } else {
      v = load_vec<VEC>(src + row * ld + col);
    }
    if constexpr (kStoreVec == VEC) {
      store_vec<VEC>(smem + smem_index(ORDER, row, col, SMEM_LD), v);
    } else {
#pragma unroll
      for (int i = 0; i < VEC; ++i) smem[smem_index(ORDER, row, col + i, SMEM_LD)] = v.x[i];
    }
  }
}

}  // namespace gemm_tune
