// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace gemm_tune {
namespace {

constexpr int kLanes = 32;
constexpr int kBanks = 32;

// The most words that the lanes [begin, end) want from one bank.
int bank_passes(const WarpWords& words, int vec, int begin, int end) {
  std::array<std::array<long long, kLanes>, kBanks> wanted;  // words of a bank, each once
  std::array<int, kBanks> count{};
  for (int lane = begin; lane < end; ++lane) {
    const std::optional<long long> first = words[static_cast<std::size_t>(lane)];
    if (!first) continue;
    for (int i = 0; i < vec; ++i) {
      const long long word = *first + i;
      const auto bank = static_cast<std::size_t>(word % kBanks);
      const auto known = wanted[bank].begin();
      if (std::find(known, known + count[bank], word) != known + count[bank]) continue;
      wanted[bank][static_cast<std::size_t>(count[bank]++)] = word;
    }
  }
  return *std::max_element(count.begin(), count.end());
}

SharedPasses passes_by_groups(const WarpWords& words, int vec, int lanes_per_group) {
  SharedPasses sum;
  for (int begin = 0; begin < kLanes; begin += lanes_per_group) {
    const int passes = bank_passes(words, vec, begin, begin + lanes_per_group);
    sum.wavefronts += passes;
    sum.conflict_free += passes > 0 ? 1 : 0;
  }
  return sum;
}

// Whether every two active lanes whose numbers differ in this bit only have the same address.
bool pairs_agree(const WarpWords& words, std::size_t bit) {
  for (std::size_t lane = 0; lane < words.size(); ++lane) {
    const std::optional<long long>& other = words[lane ^ bit];
    if (words[lane] && other && *words[lane] != *other) return false;
  }
  return true;
}

int warps_of(int threads) { return (threads + kLanes - 1) / kLanes; }

}  // namespace

SharedPasses shared_load_passes(const WarpWords& words, int vec) {
  const bool merged = vec > 1 && (pairs_agree(words, 1) || pairs_agree(words, 2));
  return passes_by_groups(words, vec, kLanes / vec * (merged ? 2 : 1));
}

SharedPasses shared_store_passes(const WarpWords& words, int vec) {
  return passes_by_groups(words, vec, kLanes / vec);
}

int shared_load_wavefronts(const WarpWords& words, int vec) {
  return shared_load_passes(words, vec).wavefronts;
}

int shared_store_wavefronts(const WarpWords& words, int vec) {
  return shared_store_passes(words, vec).wavefronts;
}

int global_wavefronts(const WarpWords& words, int vec) {
  std::array<long long, kLanes> sorted;
  auto end = sorted.begin();
  for (const std::optional<long long>& word : words) {
    if (word) *end++ = *word;
  }
  std::sort(sorted.begin(), end);
  int lines = 0, vectors = 0;
  for (auto at = sorted.begin(); at != end; ++at) {
    const bool first = at == sorted.begin();
    if (first || at[0] != at[-1]) ++vectors;
    if (first || at[0] / 32 != at[-1] / 32) ++lines;
  }
  return std::max(lines, (vectors * vec + 31) / 32);
}

double mean_over_warps(int threads, int period,
                       const std::function<std::optional<long long>(int)>& word,
                       const std::function<int(const WarpWords&)>& count) {
  const int distinct = std::min(warps_of(threads), period / std::gcd(period, kLanes));
  int sum = 0;
  for (int warp = 0; warp < distinct; ++warp) {
    WarpWords words;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int thread = warp * kLanes + lane;
      if (thread < threads) words[static_cast<std::size_t>(lane)] = word(thread);
    }
    sum += count(words);
  }
  return static_cast<double>(sum) / distinct;
}

AccessCost operator+(AccessCost a, AccessCost b) {
  return {a.instructions + b.instructions, a.wavefronts + b.wavefronts};
}

namespace {

AccessCost count_tile_copy(int rows, int cols, int threads, int vec, TileOrder order, int smem_ld) {
  constexpr long long kFarApart = 1 << 20;  // words between rows of the matrix
  const int vecs_per_row = cols / vec;
  const int vecs = rows * vecs_per_row;
  const int store_vec = smem_store_vec(order, vec, smem_ld);
  const int stores = vec / store_vec;
  // Every vector is copied by one thread, whatever the pass: count over all of them as if each had
  // a thread of its own, then share out among the CTA's warps.
  const double load = mean_over_warps(
      vecs, vecs_per_row,
      [&](int index) {
        const TilePosition at = tile_position(index, cols, vec);
        return std::optional(at.row * kFarApart + at.col);
      },
      [&](const WarpWords& words) { return global_wavefronts(words, vec); });
  const double store = mean_over_warps(
      vecs, vecs_per_row,
      [&](int index) {
        const TilePosition at = tile_position(index, cols, vec);
        return std::optional<long long>(smem_index(order, at.row, at.col, smem_ld));
      },
      [&](const WarpWords& words) { return shared_store_wavefronts(words, store_vec); });
  const double per_warp = static_cast<double>(warps_of(vecs)) / warps_of(threads);
  return {per_warp * (1 + stores), per_warp * (load + stores * store)};
}

}  // namespace

AccessCost tile_copy_cost(int rows, int cols, int threads, int vec, TileOrder order, int smem_ld) {
  // The points of a space ask for few different copies, again and again.
  thread_local std::map<std::array<int, 6>, AccessCost> known;
  const std::array<int, 6> copy = {rows, cols, threads, vec, static_cast<int>(order), smem_ld};
  const auto at = known.find(copy);
  if (at != known.end()) return at->second;
  return known.emplace(copy, count_tile_copy(rows, cols, threads, vec, order, smem_ld))
      .first->second;
}

AccessCost slice_copy_cost(int edge, int bk, int threads, int vec, bool along_k, bool async) {
  const int passes = copy_passes(edge, bk, threads, vec);
  // A patch has 4 vec rows of 32 bytes; along the edge a warp's 128 vec bytes lie in one row or
  // more.
  const int lines = along_k ? 4 * vec : std::max(vec, (32 * vec + edge - 1) / edge);
  // Single floats that do not lie along K: recorded on an H100 at 1023x1025x1021 (VEC=1), cp.async
  // takes 1.2 times as long as copies through registers in the median of 16 pairs of configs.
  constexpr double kNarrowWavefronts = 32;
  if (async && vec == 1 && !along_k) return {1.0 * passes, kNarrowWavefronts * passes};
  const int stores = along_k ? vec : 1;
  return {passes * (async ? 1.0 : 1.0 + stores), 1.0 * passes * (lines + vec)};
}

AccessCost shared_load_cost(int threads, int period, double instructions, int vec,
                            const std::function<long long(int)>& word) {
  const double passes = mean_over_warps(
      threads, period, [&](int thread) { return std::optional<long long>(word(thread)); },
      [&](const WarpWords& words) { return shared_load_wavefronts(words, vec); });
  return {instructions, instructions * passes};
}

double tile_loads(int rows, int cols, int threads, int vec) {
  return static_cast<double>(rows) * cols / vec / threads;
}

double overhead_per_k(int bk, int unroll, double global_loads, bool predicated) {
  const double per_slice = predicated ? 14 + 11 * global_loads : 20 + 2 * global_loads;
  const double inner_loop = unroll < bk ? 3.0 / unroll : 0.0;
  return per_slice / bk + inner_loop;
}

Traits tile_traits(const ThreadTile& tile, int threads, int smem_bytes) {
  Traits t;
  t.threads = threads;
  t.tile_m = tile.BM;
  t.tile_n = tile.BN;
  t.tile_k = tile.BK;
  t.thread_m = tile.TM;
  t.thread_n = tile.TN;
  t.smem_bytes = smem_bytes;
  return t;
}

Traits thread_tile_traits(const ThreadTile& tile, int unroll, bool predicated) {
  const auto [BM, BN, BK, TM, TN] = tile;
  const int threads = gemm_tune::threads(tile), columns = threads_n(tile);
  Traits t = tile_traits(tile, threads, smem_bytes(tile));
  t.predicated = predicated;
  t.barriers_per_tile_k = 2;

  const int a_vec = vector_width(BK, unroll), b_vec = vector_width(TN);
  const AccessCost feed =
      shared_load_cost(
          threads, columns, 1.0 * TM / a_vec, a_vec,
          [&](int thread) -> long long { return thread / columns * tile.TM * tile.BK; }) +
      shared_load_cost(threads, columns, 1.0 * TN / b_vec, b_vec,
                       [&](int thread) -> long long { return thread % columns * tile.TN; });
  t.feed_instructions_per_k = feed.instructions;
  t.feed_wavefronts_per_k = feed.wavefronts;
  const AccessCost fill = tile_copy_cost(BM, BK, threads, 1, TileOrder::row_major, BK) +
                          tile_copy_cost(BK, BN, threads, 1, TileOrder::row_major, BN);
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  t.other_instructions_per_k =
      overhead_per_k(BK, unroll, tile_loads(BM + BN, BK, threads, 1), predicated);
  return t;
}

}  // namespace gemm_tune
