// SPDX-License-Identifier: Apache-2.0
// The workers of a launch whose CTAs stay for several tiles, and how its last tiles are cut along
// K, where a reduction kernel adds up the parts (a family's REDUCE).
//
// The family's plan and the static model reckon alike. Pure; any thread.
#pragma once

namespace gemm_tune {

// Clusters of so many CTAs, one CTA on an SM, that run at the same time. A cluster lies within one
// of the GPU's processing clusters, whose SMs it seldom divides evenly: of an H100's 132 SMs
// clusters of 2 reach all, those of 4 and of 8 reach 120 (cudaOccupancyMaxActiveClusters). One more
// would begin when all others have ended.
constexpr int clusters_at_once(int sm_count, int ctas) {
  const int sms = ctas > 2 ? sm_count * 10 / 11 : sm_count;
  return sms >= ctas ? sms / ctas : 1;
}

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
