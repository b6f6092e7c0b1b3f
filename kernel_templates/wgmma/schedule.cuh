// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes, and over which part of K: producer and consumers walk the same list.
//
// Workers are the clusters: the grid's x counts them, its y the CTAs of one. Each takes every
// so-many-th unit: a tile, or with REDUCE a part of one of the last `cut_tiles` tiles.
#pragma once

#include "kernel_templates/wgmma/config.cuh"

namespace gemm_tune::wgmma {

constexpr int kWholeTile = -1;

// A tile, or part of its K.
struct Unit {
  int row, col;  // first of left and of right
  int batch;
  int k_begin, k_end;  // blocks of kBlockK
  int slot;            // where a part's sums go; those of a tile's parts follow each other
};

// Blocks of K that a tile has: none where alpha is 0, and A and B are not read. Each share's sums
// begin with a block, if one of zeros behind K.
__device__ inline int k_blocks_of(const Args& args) {
  if (args.alpha == 0.0f || args.K == 0) return 0;
  const int blocks = (args.K + kBlockK - 1) / kBlockK;
  return blocks < shares(kP) ? shares(kP) : blocks;
}

// Where the CTA's tile of a cluster tile lies.
__device__ inline void locate(const Args& args, const ClusterPlace& place, int tile, Unit& unit) {
  const TilePlace at = tile_place(args.tiles, tile);
  unit.batch = at.matrix;
  unit.row = (at.row * kP.CLUSTER_M + place.row) * kP.BM;
  unit.col = (at.col * kP.CLUSTER_N + place.col) * kP.BN;
}

class Schedule {
 public:
  __device__ Schedule(const Args& args, const ClusterPlace& place)
      : args_(args),
        place_(place),
        workers_(static_cast<int>(gridDim.x)),
        k_blocks_(k_blocks_of(args)),
        units_(tiles_of(args.tiles)),
        unit_(static_cast<int>(blockIdx.x)) {
    if constexpr (kP.REDUCE != 0) {
      whole_ = units_ - args.cut_tiles;
      units_ = whole_ + args.cut_tiles * args.parts;
    }
  }

  // The next unit; false after the last one.
  __device__ bool next(Unit& unit) {
    if (unit_ >= units_) return false;
    if constexpr (kP.REDUCE != 0) {
      if (unit_ < whole_) {
        take(unit_, 0, 1, unit);
        unit.slot = kWholeTile;
      } else {
        take_part(unit_ - whole_, unit);
      }
    } else {
      take(unit_, place_.k, kP.SPLIT_K, unit);
    }
    unit_ += workers_;
    return true;
  }

 private:
  __device__ void take(int tile, int part, int parts, Unit& unit) const {
    locate(args_, place_, tile, unit);
    unit.k_begin = static_cast<int>(1LL * k_blocks_ * part / parts);
    unit.k_end = static_cast<int>(1LL * k_blocks_ * (part + 1) / parts);
  }

  // Workers of one k are neighbours: they read the same rows.
  __device__ void take_part(int number, Unit& unit) const {
    const int cut = number % args_.cut_tiles, part = number / args_.cut_tiles;
    take(whole_ + cut, part, args_.parts, unit);
    unit.slot = (cut * kClusterCtas + place_.rank) * args_.parts + part;
  }

  const Args& args_;
  const ClusterPlace& place_;
  const int workers_, k_blocks_;
  int units_;
  int unit_;
  int whole_ = 0;  // units that are tiles
};

}  // namespace gemm_tune::wgmma
