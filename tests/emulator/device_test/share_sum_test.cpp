// SPDX-License-Identifier: Apache-2.0
// The deterministic sum of shares, on CTAs that come in any order.

#include <string>
#include <vector>

#include "tests/emulator/device/emulator.h"
// Ahead of the device header: it is what that compiles against.
#include "tests/emulator/device/cuda_on_cpu.h"
// After it.
#include "kernel_templates/device/sum/share_sum.cuh"
#include "tests/matchers.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kThreads = 32, kTiles = 2;
constexpr int kSums = 8;  // of a thread, unless said otherwise

struct Totals {
  std::vector<float> sums;
  std::vector<int> counters, winners = std::vector<int>(kTiles);
};

// Of `shares` CTAs for each of two tiles; share s of a tile brings value(s) + tile + index. In each
// CTA are so many threads more that have no sums.
template <int SUMS = kSums, class Value>
Totals add_up(int shares, Order order, unsigned seed, Value value, int more_threads = 0) {
  constexpr int kTileSums = kThreads * SUMS;
  Totals totals;
  totals.sums.resize(kTiles * kTileSums);
  totals.counters.resize(static_cast<std::size_t>(kTiles * (shares + 1)));
  std::vector<float> partials(static_cast<std::size_t>(kTiles * shares * kTileSums));
  Emulator emulator(kThreads + more_threads, 0, 3);
  const auto thread = [&](Cta& cta) {
    current = &cta;
    const int share = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y);
    float sums[SUMS];
    for (int i = 0; i < SUMS; ++i) {
      sums[i] = value(share) + static_cast<float>(tile + static_cast<int>(threadIdx.x) * SUMS + i);
    }
    int* const counters = &totals.counters[static_cast<std::size_t>(tile * (shares + 1))];
    if (!ShareSum<kThreads, SUMS>::add(sums, partials.data(), counters, share, shares,
                                       [&](int s) { return tile * shares + s; })) {
      return;
    }
    if (threadIdx.x == 0) ++totals.winners[static_cast<std::size_t>(tile)];
    if (static_cast<int>(threadIdx.x) >= kThreads) return;
    for (int i = 0; i < SUMS; ++i) {
      const int at = tile * kTileSums + static_cast<int>(threadIdx.x) * SUMS + i;
      totals.sums[static_cast<std::size_t>(at)] = sums[i];
    }
  };
  emulator.run({{shares, kTiles, 1}, order, seed}, thread);
  return totals;
}

class SharesOfATile : public testing::TestWithParam<int> {};

// Each sum is that of all shares, in one CTA of each tile, and the counters are zero again.
void expect_all_added(const Totals& totals, int shares, int tile_sums, const std::string& what) {
  EXPECT_THAT(totals.winners, Each(1)) << what;
  EXPECT_THAT(totals.counters, Each(0)) << what;
  int squares = 0;
  for (int share = 0; share < shares; ++share) squares += share * share;
  for (int at = 0; at < kTiles * tile_sums; ++at) {
    const int term = at / tile_sums + at % tile_sums;
    ASSERT_EQ(totals.sums[static_cast<std::size_t>(at)],
              static_cast<float>(squares + shares * term))
        << "sum " << at << ", " << what;
  }
}

float square(int share) { return static_cast<float>(share * share); }

TEST_P(SharesOfATile, AreAllAddedByOneCtaWhoeverComesLast) {
  const int shares = GetParam();
  for (const Order order : {Order::forward, Order::reversed, Order::shuffled}) {
    for (unsigned seed = 1; seed <= (order == Order::shuffled ? 10 : 1); ++seed) {
      expect_all_added(add_up(shares, order, seed, square), shares, kThreads * kSums,
                       std::string(to_string(order)) + " " + std::to_string(seed));
    }
  }
}

// A few sums of a thread are added of several shares at once, of many some at a time: 48 at once,
// 128 in two turns. Threads beyond the first take part in the barriers only.
TEST_P(SharesOfATile, AreAllAddedWhateverTheSumsOfAThreadAndWithThreadsThatHaveNone) {
  const int shares = GetParam();
  expect_all_added(add_up<1>(shares, Order::shuffled, 1, square), shares, kThreads, "1 sum");
  expect_all_added(add_up<48>(shares, Order::shuffled, 2, square), shares, kThreads * 48, "48");
  expect_all_added(add_up<128>(shares, Order::shuffled, 3, square), shares, kThreads * 128, "128");
  expect_all_added(add_up(shares, Order::shuffled, 4, square, 32), shares, kThreads * kSums,
                   "64 threads");
}

// 9 shares are 4, 4 and 1. One after another they would give 4.
TEST(GroupsOfShares, AreAddedFirst) {
  const auto value = [](int share) {
    constexpr float kValues[] = {1e8f, 1, -1e8f, 1, 1e8f, 1, -1e8f, 1, 3};
    return kValues[share];
  };
  EXPECT_EQ(add_up(9, Order::reversed, 1, value).sums.front(), 5);
}

TEST_P(SharesOfATile, AreAddedInTheSameOrderWhoeverComesLast) {
  const auto rounds = [](int share) { return 1.0f / static_cast<float>(3 + share * 7 % 11); };
  const Totals once = add_up(GetParam(), Order::forward, 1, rounds);
  EXPECT_EQ(add_up(GetParam(), Order::reversed, 1, rounds).sums, once.sums);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(add_up(GetParam(), Order::shuffled, seed, rounds).sums, once.sums) << seed;
  }
}

// One group up to 8; beyond, whole groups and a last one that is short or of one share.
INSTANTIATE_TEST_SUITE_P(Shares, SharesOfATile, testing::Values(1, 2, 3, 8, 9, 13, 16, 17, 26, 132),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace gemm_tune::emulator
