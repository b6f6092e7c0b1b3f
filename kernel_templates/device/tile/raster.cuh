// SPDX-License-Identifier: Apache-2.0
// Which product of the batch and which tile of C a CTA computes. The grid's x counts tiles: its y
// and z cannot exceed 65,535.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/element/packed.cuh"

namespace gemm_tune {

// The CTA's matrix of a strided batch, of elements of the type.
template <int TYPE>
__device__ inline const float* entry_of(const float* first, long long stride) {
  return reinterpret_cast<const float*>(stored<TYPE>(first) + blockIdx.z * stride);
}

// The arguments of the CTA's own product, of a D of f32.
template <int TYPE_A = kTypeF32, int TYPE_B = kTypeF32, class Args>
__device__ inline Args batch_entry(Args args) {
  args.A = entry_of<TYPE_A>(args.A, args.stride_a);
  args.B = entry_of<TYPE_B>(args.B, args.stride_b);
  args.D += blockIdx.z * args.stride_c;
  if constexpr (!kInPlace) args.C += blockIdx.z * args.stride_c;
  return args;
}

struct TileOrigin {
  int row, col;  // of the tile's first element in C
};

// Row-major order over the tiles of a C with N columns.
template <int TILE_M, int TILE_N>
__device__ inline TileOrigin tile_origin(int N) {
  const int tiles_n = (N - 1) / TILE_N + 1;
  const int tile = static_cast<int>(blockIdx.x);
  return {tile / tiles_n * TILE_M, tile % tiles_n * TILE_N};
}

// The same in groups of GROUP tile rows, walked column by column: CTAs that run at the same time
// then share more of A and B in L2.
template <int TILE_M, int TILE_N, int GROUP>
__device__ inline TileOrigin raster_origin(int tile, const KernelArgs& args) {
  const int tiles_n = (args.N - 1) / TILE_N + 1;
  if constexpr (GROUP == 1) return {tile / tiles_n * TILE_M, tile % tiles_n * TILE_N};
  const int tiles_m = (args.M - 1) / TILE_M + 1;
  const int group = tile / (GROUP * tiles_n);
  const int in_group = tile - group * GROUP * tiles_n;
  const int rows = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
  return {(group * GROUP + in_group % rows) * TILE_M, in_group / rows * TILE_N};
}

// The same without its divisions, which a CTA's first loads wait for, where there is one row or one
// column of tiles, and with one division where there is one group.
template <int TILE_M, int TILE_N, int GROUP>
__device__ inline TileOrigin short_raster_origin(int tile, const KernelArgs& args) {
  if (args.M <= TILE_M) return {0, tile * TILE_N};
  if (args.N <= TILE_N) return {tile * TILE_M, 0};
  const int tiles_m = (args.M - 1) / TILE_M + 1;
  if (tiles_m <= GROUP) return {tile % tiles_m * TILE_M, tile / tiles_m * TILE_N};
  return raster_origin<TILE_M, TILE_N, GROUP>(tile, args);
}

struct KRange {
  int begin, end;
};

// The share-th of SHARES nearly equal parts of K, in whole slices of BK; empty where there are
// fewer slices than shares.
template <int BK, int SHARES>
__device__ inline KRange share_of_k(int K, int share) {
  if constexpr (SHARES == 1) return {0, K};
  const int slices = (K - 1) / BK + 1;
  const int begin = static_cast<int>(1LL * slices * share / SHARES) * BK;
  const int end = static_cast<int>(1LL * slices * (share + 1) / SHARES) * BK;
  return {begin, end < K ? end : K};
}

}  // namespace gemm_tune
