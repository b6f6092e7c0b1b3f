// SPDX-License-Identifier: Apache-2.0
// The producer: one thread that loads left's and right's tiles into stage after stage.
//
// CTAs of a cluster's row have left's tile in common, those of a column right's: each loads a part
// of it into all of them.
#pragma once

#include "kernel_templates/wgmma/pipeline.cuh"
#include "kernel_templates/wgmma/schedule.cuh"
#include "kernel_templates/wgmma/tensor_copy.cuh"

namespace gemm_tune::wgmma {

// Loads tiles of one operand. PARTS: CTAs that have the tile in common.
template <int EXTENT, bool ALONG_K, int PARTS>
class TileLoad {
 public:
  // part: the CTA's number among those; ctas: their ranks' bits.
  __device__ TileLoad(const TensorMap& map, int part, unsigned short ctas, unsigned long long hint)
      : map_(map), part_(part), ctas_(ctas), hint_(hint) {}

  // The tile from row (or column) `first` and from k on. Its rows along K are dealt out, or the
  // k of each block.
  __device__ void load(char* to, Barrier* barrier, int first, int k, int batch) const {
    using Layout = TileLayout<EXTENT, ALONG_K, element_bytes(kP)>;
    if constexpr (ALONG_K) {
      constexpr int kRows = EXTENT / PARTS;
      load_part(to + part_ * kRows * Layout::kRowBytes, barrier, {k, first + part_ * kRows, batch});
    } else {
      constexpr int kRows = kBK / PARTS;
#pragma unroll
      for (int col = 0; col < EXTENT; col += Layout::kWidth) {
        load_part(
            to + col / Layout::kWidth * Layout::kBlockBytes + part_ * kRows * Layout::kRowBytes,
            barrier, {first + col, k + part_ * kRows, batch});
      }
    }
  }

 private:
  __device__ void load_part(char* to, Barrier* barrier, Box from) const {
    if constexpr (PARTS == 1) {
      load_box(to, map_, barrier, from, hint_);
    } else {
      load_box_for(ctas_, to, map_, barrier, from, hint_);
    }
  }

  const TensorMap& map_;
  const int part_;
  const unsigned short ctas_;
  const unsigned long long hint_;
};

__device__ inline unsigned short row_ctas(const ClusterPlace& place) {
  unsigned ctas = 0;
  for (int col = 0; col < kP.CLUSTER_N; ++col) ctas |= 1u << place.rank_of(place.row, col);
  return static_cast<unsigned short>(ctas);
}
__device__ inline unsigned short column_ctas(const ClusterPlace& place) {
  unsigned ctas = 0;
  for (int row = 0; row < kP.CLUSTER_M; ++row) ctas |= 1u << place.rank_of(row, place.col);
  return static_cast<unsigned short>(ctas);
}

__device__ inline void produce(const TensorMap& left_map, const TensorMap& right_map,
                               const Args& args, const ClusterPlace& place,
                               const Buffers& buffers) {
  const TileLoad<kP.BM, kLeftAlongK, kP.CLUSTER_N> left(left_map, place.col, row_ctas(place),
                                                        args.left_hint);
  const TileLoad<kP.BN, kRightAlongK, kP.CLUSTER_M> right(right_map, place.row, column_ctas(place),
                                                          args.right_hint);
  Schedule schedule(args, place);
  StageCursor<kStages> at;
  Unit unit;
  while (schedule.next(unit)) {
    for (int k = unit.k_begin; k < unit.k_end; ++k) {
      wait(buffers.empty + at.stage, at.parity ^ 1);  // the first round finds them empty
      Barrier* const full = buffers.full + at.stage;
      arrive_expecting(full, stage_bytes(kP));
      left.load(buffers.left + at.stage * left_bytes(kP), full, unit.row, k * kBlockK, unit.batch);
      right.load(buffers.right + at.stage * right_bytes(kP), full, unit.col, k * kBlockK,
                 unit.batch);
      at.advance();
    }
  }
}

}  // namespace gemm_tune::wgmma
