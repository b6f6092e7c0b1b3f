// SPDX-License-Identifier: Apache-2.0
// Which tiles a CTA computes, and over which part of K: producer and consumers walk the same list.
//
// Workers are the clusters: the grid's x counts them, its y the CTAs of one. Each takes every
// so-many-th tile. With STREAM_K the first `streamed_tiles` tiles are one sequence of k blocks,
// which all workers share evenly before they take whole tiles: a worker begins with its last tile,
// whose end another worker computes, so that its sums are there when that worker asks for them.
// Tiles are numbered along a raster of groups.
#pragma once

#include "kernel_templates/wgmma/config.cuh"

namespace gemm_tune::wgmma {

// A tile, or part of its K.
struct Unit {
  int row, col;  // first of left and of right
  int batch;
  int k_begin, k_end;  // blocks of kBK
  bool is_end;         // has the tile's last k: this CTA stores the tile
  int first_worker;    // of those that have earlier parts of the tile; they precede this one
};

// Blocks of K that a tile has: none where alpha is 0, and A and B are not read. Each CTA's sums
// begin with a block, if one of zeros behind K.
__device__ inline int k_blocks_of(const Args& args) {
  if (args.alpha == 0.0f || args.K == 0) return 0;
  const int blocks = (args.K + kBK - 1) / kBK;
  return blocks < kP.SPLIT_K ? kP.SPLIT_K : blocks;
}

class Schedule {
 public:
  __device__ Schedule(const Args& args, const ClusterPlace& place)
      : args_(args),
        place_(place),
        worker_(static_cast<int>(blockIdx.x)),
        workers_(static_cast<int>(gridDim.x)),
        k_blocks_(k_blocks_of(args)),
        tiles_(args.row_tiles * args.col_tiles * args.batch),
        tile_(worker_) {
    if constexpr (kP.STREAM_K != 0) {
      streamed_ = args.streamed_tiles * k_blocks_;
      if (streamed_ < workers_) streamed_ = 0;  // each worker has a part, or none has
      stream_begin_ = share(worker_);
      stream_end_ = share(worker_ + 1);
      if (streamed_ > 0) tile_ += args.streamed_tiles;
    }
  }

  // The next unit; false after the last one.
  __device__ bool next(Unit& unit) {
    if constexpr (kP.STREAM_K != 0) {
      if (stream_begin_ < stream_end_) {
        take_streamed(unit);
        return true;
      }
    }
    if (tile_ >= tiles_) return false;
    put(tile_, unit);
    unit.k_begin = k_blocks_ * place_.k / kP.SPLIT_K;
    unit.k_end = k_blocks_ * (place_.k + 1) / kP.SPLIT_K;
    unit.is_end = true;
    unit.first_worker = worker_;
    tile_ += workers_;
    return true;
  }

  __device__ int worker() const { return worker_; }

 private:
  __device__ int share(int worker) const {
    return static_cast<int>(1LL * streamed_ * worker / workers_);
  }

  __device__ void take_streamed(Unit& unit) {
    const int tile = (stream_end_ - 1) / k_blocks_;
    const int tile_begin = tile * k_blocks_;
    const int begin = stream_begin_ > tile_begin ? stream_begin_ : tile_begin;
    put(tile, unit);
    unit.k_begin = begin - tile_begin;
    unit.k_end = stream_end_ - tile_begin;
    unit.is_end = unit.k_end == k_blocks_;
    // The least worker whose share ends after the tile's first block.
    unit.first_worker = static_cast<int>(((tile_begin + 1LL) * workers_ - 1) / streamed_);
    stream_end_ = begin;
  }

  __device__ void put(int tile, Unit& unit) const {
    const int in_matrix = args_.row_tiles * args_.col_tiles;
    unit.batch = tile / in_matrix;
    tile -= unit.batch * in_matrix;
    int row, col;
    if (args_.raster_group > 0) {
      walk(tile, args_.raster_group, args_.row_tiles, args_.col_tiles, row, col);
    } else {
      walk(tile, -args_.raster_group, args_.col_tiles, args_.row_tiles, col, row);
    }
    unit.row = (row * kP.CLUSTER_M + place_.row) * kP.BM;
    unit.col = (col * kP.CLUSTER_N + place_.col) * kP.BN;
  }

  // Groups of `group` tiles across, walked along.
  static __device__ void walk(int tile, int group, int across_tiles, int along_tiles, int& across,
                              int& along) {
    const int of_group = group * along_tiles;
    const int first = tile / of_group * group;
    const int in_group = tile % of_group;
    const int width = across_tiles - first < group ? across_tiles - first : group;
    across = first + in_group % width;
    along = in_group / width;
  }

  const Args& args_;
  const ClusterPlace& place_;
  const int worker_, workers_;
  const int k_blocks_, tiles_;
  int tile_;
  int streamed_ = 0, stream_begin_ = 0, stream_end_ = 0;  // k blocks
};

}  // namespace gemm_tune::wgmma
