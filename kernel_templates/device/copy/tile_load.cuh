// SPDX-License-Identifier: Apache-2.0
// Copies one tile of a row-major matrix from global into shared memory, by all threads of a CTA.
//
// In two halves, so that a kernel can have all its global loads under way before it waits for the
// first of them.
#pragma once

#include "kernel_templates/device/copy/tile_map.cuh"
#include "kernel_templates/device/element/packed.cuh"

namespace gemm_tune {

// A thread's share of a tile on its way, of elements of the TYPE, which are widened to f32. For
// ORDER and SMEM_LD see smem_index().
template <int ROWS, int COLS, int THREADS, int VEC, bool PREDICATED, TileOrder ORDER, int SMEM_LD,
          int TYPE = kTypeF32>
class TileCopy {
 public:
  // src points at the tile's first element. Elements at or past rows_left or cols_left become zero
  // and are not read; without PREDICATED both must cover the tile.
  __device__ void load(const Stored<TYPE>* src, long long ld, int rows_left, int cols_left) {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (is_surplus(pass)) break;
      const auto [row, col] = position(pass);
      if constexpr (PREDICATED) {
        const int left = in_bounds(row, rows_left) ? cols_left - col : 0;
        share_[pass] = load_packed_edge<TYPE, VEC>(src + row * ld + col, left);
      } else {
        share_[pass] = load_packed<TYPE, VEC>(src + row * ld + col);
      }
    }
  }

  __device__ void store(float* smem) const {
    constexpr int kStoreVec = smem_store_vec(ORDER, VEC, SMEM_LD);
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (is_surplus(pass)) break;
      const auto [row, col] = position(pass);
      if constexpr (kStoreVec == VEC) {
        store_vec<VEC>(smem + smem_index(ORDER, row, col, SMEM_LD), widened(share_[pass]));
      } else {
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
          smem[smem_index(ORDER, row, col + i, SMEM_LD)] = value_of(share_[pass], i);
        }
      }
    }
  }

 private:
  static_assert(COLS % VEC == 0);
  static constexpr int kVecs = ROWS * (COLS / VEC);
  static constexpr int kPasses = (kVecs + THREADS - 1) / THREADS;

  // Not a matrix edge: the last pass may have fewer vectors than threads.
  static __device__ bool is_surplus(int pass) {
    const int index = pass * THREADS + static_cast<int>(threadIdx.x);
    return kVecs % THREADS != 0 && index >= kVecs;
  }

  // tile_position() of the thread's vector, in a form that shows the compiler what the passes have
  // in common.
  static __device__ TilePosition position(int pass) {
    constexpr int kVecsPerRow = COLS / VEC;
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (THREADS % kVecsPerRow == 0) {
      const TilePosition first = tile_position(thread, COLS, VEC);
      return {first.row + pass * (THREADS / kVecsPerRow), first.col};
    }
    if constexpr (kVecsPerRow % THREADS == 0) {
      const TilePosition first = tile_position(pass * THREADS, COLS, VEC);
      return {first.row, first.col + thread * VEC};
    }
    return tile_position(pass * THREADS + thread, COLS, VEC);
  }

  Packed<TYPE, VEC> share_[kPasses];
};

}  // namespace gemm_tune
