// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes, and the stages between its producer and its consumers: buffers with
// all parts of both operands, and two barriers each. Of an operand that is not split tiles lie as
// its rows do (wgmma/descriptor.cuh).
//
// `full` ends a phase when a stage's bytes are there, `empty` when all consumers are done with it.
// Both sides walk the same tiles and stages in the same order.
#pragma once

#include "kernel_templates/device/copy/stage_cursor.cuh"
#include "kernel_templates/wgmma/descriptor.cuh"
#include "kernel_templates/wgmma/tensor_copy.cuh"
#include "kernel_templates/wgmma_parts/config.cuh"

namespace gemm_tune::wgmma_parts {

constexpr bool kLeftAlongK = left_along_k(kP), kRightAlongK = right_along_k(kP);
using LeftTile = wgmma::TileLayout<kP.BM, kLeftAlongK>;
using RightTile = wgmma::TileLayout<kP.BN, kRightAlongK>;

struct Tile {
  int row, col, batch;
};

// Every so-many-th tile.
class Schedule {
 public:
  __device__ explicit Schedule(const Args& args)
      : args_(args), tile_(static_cast<int>(blockIdx.x)), tiles_(tiles_of(args.tiles)) {}

  // The next tile; false after the last one.
  __device__ bool next(Tile& tile) {
    if (tile_ >= tiles_) return false;
    const TilePlace at = tile_place(args_.tiles, tile_);
    tile = {at.row * kP.BM, at.col * kP.BN, at.matrix};
    tile_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  const Args& args_;
  int tile_;
  const int tiles_;
};

struct Buffers {
  char* left;
  char* right;
  wgmma::Barrier* full;
  wgmma::Barrier* empty;

  explicit __device__ Buffers(char* smem)
      : left(smem),
        right(left + kStages * left_bytes(kP)),
        full(reinterpret_cast<wgmma::Barrier*>(right + kStages * right_bytes(kP))),
        empty(full + kStages) {}

  __device__ void init_barriers() const {
    for (int i = 0; i < kStages; ++i) {
      wgmma::init_barrier(full + i, 1);
      wgmma::init_barrier(empty + i, kP.GROUPS);
    }
    wgmma::publish_barriers();
  }
};

// A tile of an operand, of the lines from `first` on and 64 k. A box has all parts of its lines, or
// a block of rows along M or N.
template <class Layout, bool ALONG_K, int EXTENT, int PARTS>
__device__ inline void load_tile(char* to, const TensorMap& map, wgmma::Barrier* full, int first,
                                 int k, int batch) {
  if constexpr (ALONG_K) {
    wgmma::load_box(to, map, full, {k, first, PARTS * batch}, wgmma::kEvictNormally);
  } else {
#pragma unroll
    for (int line = 0; line < EXTENT; line += Layout::kWidth) {
      wgmma::load_box(to + line / Layout::kWidth * Layout::kBlockBytes, map, full,
                      {first + line, k, batch}, wgmma::kEvictNormally);
    }
  }
}

// One thread loads stage after stage.
__device__ inline void produce(const TensorMap& left_map, const TensorMap& right_map,
                               const Args& args, const Buffers& buffers) {
  const int k_blocks = k_blocks_of(args);
  Schedule schedule(args);
  StageCursor<kStages> at;
  Tile tile;
  while (schedule.next(tile)) {
    for (int k = 0; k < k_blocks; ++k) {
      wgmma::wait(buffers.empty + at.stage, at.parity ^ 1);  // the first round finds them empty
      wgmma::Barrier* const full = buffers.full + at.stage;
      wgmma::arrive_expecting(full, stage_bytes(kP));
      load_tile<LeftTile, kLeftAlongK, kP.BM, kPartsA>(
          buffers.left + at.stage * left_bytes(kP), left_map, full, tile.row, k * kBK, tile.batch);
      load_tile<RightTile, kRightAlongK, kP.BN, kPartsB>(buffers.right + at.stage * right_bytes(kP),
                                                         right_map, full, tile.col, k * kBK,
                                                         tile.batch);
      at.advance();
    }
  }
}

}  // namespace gemm_tune::wgmma_parts
