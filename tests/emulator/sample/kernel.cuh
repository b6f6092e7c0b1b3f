// SPDX-License-Identifier: Apache-2.0
// sample: a plain GEMM with every feature that the emulator's cases look for, and a fault if asked.
//
// One thread computes 4 neighbours of a row of C. SPLIT_K CTAs share a tile or, with TAIL, the
// tiles of a ragged last wave of that many CTAs per SM are cut; TA and TB as in any family. FAULT
// is what is wrong with it.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/sum/share_sum.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/tail.cuh"
#include "tests/emulator/sample/params.cuh"

namespace gemm_tune::sample {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

__device__ inline float a_at(const KernelArgs& args, int row, int k) {
  if (!in_bounds(row, args.M)) return 0;
  return kP.TA != 0 && kP.FAULT != kLayoutA ? args.A[k * args.lda + row]
                                            : args.A[row * args.lda + k];
}

__device__ inline float b_at(const KernelArgs& args, int k, int col) {
  if (!in_bounds(col, args.N)) return 0;
  return kP.TB != 0 && kP.FAULT != kLayoutB ? args.B[col * args.ldb + k]
                                            : args.B[k * args.ldb + col];
}

__device__ inline int slices(const KernelArgs& args) {
  return (reduction_length(args) + kSlice - 1) / kSlice;
}

struct Place {
  int row, col;
};

// Of the thread's first element in the tile-th tile.
__device__ inline Place place_of(const KernelArgs& args, int tile) {
  const int tiles_n = (args.N - 1) / kTile + 1, thread = static_cast<int>(threadIdx.x);
  return {tile / tiles_n * kTile + thread / 4, tile % tiles_n * kTile + thread % 4 * 4};
}

__device__ inline void multiply(float* sums, const KernelArgs& args, int tile, int first,
                                int last) {
  const Place place = place_of(args, tile);
  for (int i = 0; i < 4; ++i) sums[i] = 0;
  for (int k = first * kSlice; k < last * kSlice && in_bounds(k, reduction_length(args)); ++k) {
    for (int i = 0; i < 4; ++i) sums[i] += a_at(args, place.row, k) * b_at(args, k, place.col + i);
  }
}

__device__ inline void store_tile(const float* sums, const KernelArgs& args, int tile) {
  const Place place = place_of(args, tile);
  if (!in_bounds(place.row, args.M)) return;
  for (int i = 0; i < 4 && in_bounds(place.col + i, args.N); ++i) {
    store_d<1, false>(args, place.row, place.col + i, {{sums[i]}});
  }
}

// The sums of one share of a tile; whoever comes last stores the tile.
template <class SlotOf>
__device__ inline void add_share(float* sums, const KernelArgs& args, int tile, int* counters,
                                 int share, int shares, SlotOf slot_of) {
  const auto slot = [&](int s) {
    if (kP.FAULT == kSharedPartials) return slot_of(0);
    return slot_of(s) + (kP.FAULT == kPartialsTooLong ? 1 : 0);
  };
  const float own[4] = {sums[0], sums[1], sums[2], sums[3]};
  if (!ShareSum<kThreads, 4>::add(sums, args.partials, counters, share, shares, slot)) return;
  if (kP.FAULT == kCounterLeft) counters[0] = 1;
  if (kP.FAULT == kOrderOfArrival) {
    for (int i = 0; i < 4; ++i) sums[i] = (sums[i] - own[i]) + own[i];
  }
  store_tile(sums, args, tile);
}

// A CTA's share of one tile.
__device__ inline void split(const KernelArgs& args) {
  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const int first = slices(args) * share / kP.SPLIT_K;
  const int last = slices(args) * (share + 1) / kP.SPLIT_K;
  if (kP.FAULT == kEmptyShare && first == last) return;
  float sums[4];
  multiply(sums, args, tile, first, last);
  const int number = static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);  // of all tiles
  add_share(sums, args, tile, args.counters + number * (kP.SPLIT_K + 1), share, kP.SPLIT_K,
            [&](int s) { return number * kP.SPLIT_K + s; });
}

// A whole tile, or a piece of one that is cut along K.
__device__ inline void tail(const KernelArgs& args) {
  const TilePiece piece = tile_piece<kTile, kTile>(args, reduction_length(args));
  float sums[4];
  multiply(sums, args, piece.tile, piece.k.begin / kSlice, (piece.k.end + kSlice - 1) / kSlice);
  if (piece.shares == 1) return store_tile(sums, args, piece.tile);
  add_share(sums, args, piece.tile, args.counters + piece.cut * (piece.shares + 1), piece.share,
            piece.shares, [&](int s) { return piece.cut * piece.shares + s; });
}

extern "C" __global__ void __launch_bounds__(kThreads) gemm(const KernelArgs all) {
  KernelArgs args = batch_entry(all);
  if (kP.FAULT == kBatchStride) args.D = all.D + blockIdx.z * all.stride_a;
  if constexpr (kP.TAIL > 0) {
    tail(args);
  } else if constexpr (kP.SPLIT_K > 1) {
    split(args);
  } else {
    float sums[4];
    multiply(sums, args, static_cast<int>(blockIdx.x), 0, slices(args));
    store_tile(sums, args, static_cast<int>(blockIdx.x));
  }
}

}  // namespace gemm_tune::sample
