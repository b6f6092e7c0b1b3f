// SPDX-License-Identifier: Apache-2.0
// Which piece of which tile a CTA computes where the last tiles are cut along K, so that no SM
// stands idle while others finish a ragged last wave.
//
// The host decides how many tiles are cut, and where (core/launch/launch_recipe.h): whole tiles
// come first in the grid, then the first pieces of all cut tiles, then their second ones, and so
// on. A CTA has one piece. The same end as stream-K's (Osama et al., PPoPP 2023) without its loop
// over tiles, which costs registers.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/tile/raster.cuh"

namespace gemm_tune {

struct TilePiece {
  int tile;
  KRange k;
  int share, shares;  // of the tile's pieces; 0 of 1 where it is whole
  int cut;            // the tile's number among those that are cut
};

// Of the CTA, for tiles of BM x BN. K: what the main loop covers, args.K or 0.
template <int BM, int BN>
__device__ inline TilePiece tile_piece(const KernelArgs& args, int K) {
  const int cta = static_cast<int>(blockIdx.x), ctas = static_cast<int>(gridDim.x);
  const int tiles = ((args.M - 1) / BM + 1) * ((args.N - 1) / BN + 1);
  if (ctas == tiles) return {cta, {0, K}, 0, 1, 0};
  const int shares = (args.K - 1) / args.piece_k + 1;
  const int cut_tiles = (ctas - tiles) / (shares - 1);
  const int whole = tiles - cut_tiles;
  if (cta < whole) return {cta, {0, K}, 0, 1, 0};
  const int share = (cta - whole) / cut_tiles;
  const int cut = cta - whole - share * cut_tiles;
  const int begin = share * args.piece_k, end = begin + args.piece_k;
  if (K == 0) return {whole + cut, {0, 0}, share, shares, cut};
  return {whole + cut, {begin, end < K ? end : K}, share, shares, cut};
}

}  // namespace gemm_tune
