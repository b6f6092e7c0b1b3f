// SPDX-License-Identifier: Apache-2.0
// Persistent CTAs, which stay for several tiles: how many run at the same time, in which order
// these take them, and how the last tiles are cut along K, where a reduction kernel adds up the
// parts (a family's REDUCE).
//
// The family's plan and the static model reckon alike. Pure; any thread.
#pragma once

#include <algorithm>
#include <cmath>

namespace gemm_tune {

// Clusters of so many CTAs, one CTA on an SM, that run at the same time. A cluster lies within one
// of the GPU's processing clusters, whose SMs it seldom divides evenly: of an H100's 132 SMs
// clusters of 2 reach all, those of 4 and of 8 reach 120 (cudaOccupancyMaxActiveClusters). One more
// would begin when all others have ended.
constexpr int clusters_at_once(int sm_count, int ctas) {
  const int sms = ctas > 2 ? sm_count * 10 / 11 : sm_count;
  return sms >= ctas ? sms / ctas : 1;
}

// Rows of tiles that are walked together (device/tile/tile_raster.cuh): a wave covers about a
// square of D, for which it reads the fewest bytes, and groups are about equal. tile_rows,
// tile_cols: of D's elements that a worker computes at a time.
inline int raster_group(int tile_rows, int tile_cols, int row_tiles, int workers) {
  const double square = std::sqrt(1.0 * workers * tile_cols / tile_rows);
  const int groups = static_cast<int>(std::ceil(row_tiles / std::max(1.0, square)));
  return (row_tiles + groups - 1) / groups;
}

// A, B and D of a launch that may begin while the one before it ends. With more, its CTAs, which
// get other SMs each time, find their operands in the half of an H100's L2 that is far, which costs
// more than the few us of a launch (docs/notes/kernels/wgmma.md).
inline constexpr double kMostBytesOfOverlap = 20 << 20;

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
