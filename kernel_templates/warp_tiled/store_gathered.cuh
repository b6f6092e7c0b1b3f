// SPDX-License-Identifier: Apache-2.0
// Sums on their way to D: a warp gathers some of its threads' rows in shared memory, so that its
// stores write whole sectors of D. In a gathered row element c of all lanes' groups comes ahead of
// element c + 1, and rows are a row of lanes longer: then neither the lanes' stores nor their loads
// of neighbouring columns share a bank.
#pragma once

#include "kernel_templates/device/tile/line_store.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/warp_tiled/warps_k.cuh"

namespace gemm_tune::warp_tiled {

constexpr int gathered_ld(const Params& p) { return p.WN + lanes_n(p); }
constexpr int gathered_column(const Params& p, int col) {
  const int group = lanes_n(p) * kGroup;
  return col / group * group + col % kGroup * lanes_n(p) + col % group / kGroup;
}
// Of each thread one row at a time.
constexpr int gathered_floats(const Params& p) {
  return threads(p) / 32 * lanes_m(p) * gathered_ld(p);
}
// Where the memory that is there anyway has room for them.
constexpr bool gathers_rows(const Params& p) {
  return p.CLUSTER == 0 && (p.WN % 32 == 0 || 32 % p.WN == 0) &&
         gathered_floats(p) * int(sizeof(float)) <= smem_bytes(p);
}

// Rows of each thread that a warp gathers at once: as many as fit, up to a group.
constexpr int gathered_rows(const Params& p) {
  int rows = min_of(kGroup, kOwnRows);
  while (rows > 1 &&
         (kOwnRows % rows != 0 || rows * gathered_floats(p) * int(sizeof(float)) > smem_bytes(p))) {
    --rows;
  }
  return rows;
}

// The same as store() by way of `buffer`, for accesses of 4 bytes: a store of a warp then writes
// neighbouring elements of D, where store() would write a part of many sectors. Element by element,
// as in ShareSum.
template <Params P>
__device__ inline void store_gathered(const OwnSums& sums, const KernelArgs& args,
                                      TileOrigin origin, const Place& place, float* buffer) {
  constexpr int kLd = gathered_ld(P), kRows = gathered_rows(P);
  // Lanes, then passes, along a gathered row; rows of a pass, and passes.
  constexpr int kLanes = min_of(32, P.WN), kCols = P.WN / kLanes;
  constexpr int kAtOnce = 32 / kLanes, kPasses = lanes_m(P) / kAtOnce;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int first = first_own_row(thread);
  const int row = origin.row + place.row + lane / kLanes * kGroup;
  const int col = origin.col + place.col + lane % kLanes;
  float* const gathered = buffer + thread / 32 * (kRows * lanes_m(P) * kLd);
  const float* const from = gathered + lane / kLanes * kLd + gathered_column(P, lane % kLanes);
  __syncthreads();  // nobody reads the buffer any more
#pragma unroll
  for (int begin = 0; begin < kOwnRows; begin += kRows) {
    if (begin > 0) __syncwarp();  // the rows before have left
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float* const to = gathered + (i * lanes_m(P) + place.lane_m) * kLd;
#pragma unroll
      for (int j = 0; j < P.TN; ++j) {
        to[gathered_column(P, element_offset(lanes_n(P), place.lane_n, j))] = sums.x[begin + i][j];
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float line[kPasses][kCols];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) {
          line[pass][j] = from[(i * lanes_m(P) + pass * kAtOnce) * kLd + j * kLanes];
        }
      }
      store_lines<kPredicated>(line, args, row + element_offset(lanes_m(P), 0, first + begin + i),
                               kAtOnce * kGroup, col, kLanes);
    }
  }
}

}  // namespace gemm_tune::warp_tiled
