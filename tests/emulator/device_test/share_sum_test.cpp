// SPDX-License-Identifier: Apache-2.0
// The deterministic sum of shares, on CTAs that come in any order.

#include <vector>

#include "tests/emulator/device/emulator.h"
// Ahead of the device header: it is what that compiles against.
#include "tests/emulator/device/cuda_on_cpu.h"
// After it.
#include "kernel_templates/device/sum/share_sum.cuh"
#include "tests/matchers.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kThreads = 32, kSums = 8, kTiles = 2;
constexpr int kTileSums = kThreads * kSums;

struct Totals {
  std::vector<float> sums = std::vector<float>(kTiles * kTileSums);
  std::vector<int> counters, winners = std::vector<int>(kTiles);
};

// Of `shares` CTAs for each of two tiles; share s of a tile brings value(s) + tile + index.
template <class Value>
Totals add_up(int shares, Order order, unsigned seed, Value value) {
  Totals totals;
  totals.counters.resize(static_cast<std::size_t>(kTiles * (shares + 1)));
  std::vector<float> partials(static_cast<std::size_t>(kTiles * shares * kTileSums));
  Emulator emulator(kThreads, 0, 3);
  const auto thread = [&](Cta& cta) {
    current = &cta;
    const int share = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y);
    float sums[kSums];
    for (int i = 0; i < kSums; ++i) {
      sums[i] = value(share) + static_cast<float>(tile + static_cast<int>(threadIdx.x) * kSums + i);
    }
    int* const counters = &totals.counters[static_cast<std::size_t>(tile * (shares + 1))];
    if (!ShareSum<kThreads, kSums>::add(sums, partials.data(), counters, share, shares,
                                        [&](int s) { return tile * shares + s; })) {
      return;
    }
    if (threadIdx.x == 0) ++totals.winners[static_cast<std::size_t>(tile)];
    for (int i = 0; i < kSums; ++i) {
      const int at = tile * kTileSums + static_cast<int>(threadIdx.x) * kSums + i;
      totals.sums[static_cast<std::size_t>(at)] = sums[i];
    }
  };
  emulator.run({{shares, kTiles, 1}, order, seed}, thread);
  return totals;
}

class SharesOfATile : public testing::TestWithParam<int> {};

TEST_P(SharesOfATile, AreAllAddedByOneCtaWhoeverComesLast) {
  const int shares = GetParam();
  for (const Order order : {Order::forward, Order::reversed, Order::shuffled}) {
    for (unsigned seed = 1; seed <= (order == Order::shuffled ? 10 : 1); ++seed) {
      const Totals totals =
          add_up(shares, order, seed, [](int share) { return static_cast<float>(share * share); });
      EXPECT_THAT(totals.winners, Each(1));
      EXPECT_THAT(totals.counters, Each(0));
      int squares = 0;
      for (int share = 0; share < shares; ++share) squares += share * share;
      for (int at = 0; at < kTiles * kTileSums; ++at) {
        const int term = at / kTileSums + at % kTileSums;
        ASSERT_EQ(totals.sums[static_cast<std::size_t>(at)],
                  static_cast<float>(squares + shares * term))
            << "sum " << at << ", " << to_string(order) << " " << seed;
      }
    }
  }
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
INSTANTIATE_TEST_SUITE_P(Shares, SharesOfATile, testing::Values(1, 2, 3, 8, 9, 13, 16, 17, 26),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace gemm_tune::emulator
