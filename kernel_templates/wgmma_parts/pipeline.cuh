// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes, and the stages between its producer and its consumers: buffers with
// all parts of both operands, and two barriers each.
//
// `full` ends a phase when a stage's bytes are there, `empty` when all consumers are done with it.
// Both sides walk the same tiles and stages in the same order.
#pragma once

#include "kernel_templates/device/copy/stage_cursor.cuh"
#include "kernel_templates/wgmma/descriptor.cuh"
#include "kernel_templates/wgmma/tensor_copy.cuh"
#include "kernel_templates/wgmma_parts/config.cuh"

namespace gemm_tune::wgmma_parts {

using LeftTile = wgmma::TileLayout<kP.BM, true>;
using RightTile = wgmma::TileLayout<kP.BN, true>;

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

// One thread loads stage after stage. A box has all parts of its lines.
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
      const int matrix = kParts * tile.batch;
      wgmma::load_box(buffers.left + at.stage * left_bytes(kP), left_map, full,
                      {k * kBK, tile.row, matrix}, wgmma::kEvictNormally);
      wgmma::load_box(buffers.right + at.stage * right_bytes(kP), right_map, full,
                      {k * kBK, tile.col, matrix}, wgmma::kEvictNormally);
      at.advance();
    }
  }
}

}  // namespace gemm_tune::wgmma_parts
