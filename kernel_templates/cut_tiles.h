// SPDX-License-Identifier: Apache-2.0
// How the last tiles of a launch are cut along K, where CTAs stay for several tiles and a reduction
// kernel adds up the parts (a family's REDUCE).
//
// The family's plan and the static model cut alike. Pure; any thread.
#pragma once

namespace gemm_tune {

struct CutTiles {
  long long tiles = 0;  // the last so many
  int parts = 1;        // of each
};

// Blocks of K that a part has at least: a load's latency passes either way, and fewer parts are
// fewer sums.
inline constexpr long long kLeastPartBlocks = 2;

// Tiles that fill at most half of a last wave become as many parts as there are workers for. A
// fuller wave stays whole: its parts' sums would take longer than what is won.
constexpr CutTiles cut_tiles(long long tiles, long long workers, long long k_blocks) {
  const long long ragged = tiles % workers;
  if (ragged == 0) return {};
  const long long fit = workers / ragged, most = k_blocks / kLeastPartBlocks;
  const long long parts = fit < most ? fit : most;
  if (parts < 2) return {};
  return {ragged, static_cast<int>(parts)};
}

}  // namespace gemm_tune
