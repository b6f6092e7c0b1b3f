// SPDX-License-Identifier: Apache-2.0
// Look-ups whose kernels must add up in one order for every M. A kernel of another order would be a
// wrong answer.
#include "choose/one_order.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "choose/choose.h"
#include "choose/layered.h"
#include "kernel_templates/registry/order_of_sums.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr Allowed kOneOrder{false, true, true};

std::string mma(int bm, int split_k, int bk = 64, bool predicated = true) {
  return "mma/AB=2,CD=0,BM=" + std::to_string(bm) + ",BN=32,BK=" + std::to_string(bk) +
         ",WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=" +
         std::to_string(split_k) + ",TA=0,TB=1,PRED=" + (predicated ? "1" : "0");
}

class OneOrderTest : public DbTest {
 protected:
  static std::string problem(std::int64_t m, const std::string& n_and_k = "512x1024") {
    return std::to_string(m) + "x" + n_and_k + ":type=bf16/bf16/f32/f32:layout=nt";
  }

  void store(std::int64_t m, const std::string& config, double us,
             const std::string& n_and_k = "512x1024") {
    store_measured(database_, kA6000, problem(m, n_and_k), config, us);
  }

  Tuned tuned() const {
    return std::move(load_layered(&database_, {}, "sm_86", kRevisions, {}, true).tuned["sm_86"]);
  }

  // Of all M up to `last`, whatever the alignment of the operands.
  static std::set<std::string> orders_served(const Tuned& tuned, std::int64_t last,
                                             const std::string& n_and_k = "512x1024") {
    std::set<std::string> orders;
    for (std::int64_t m = 1; m <= last; ++m) {
      for (const char* align : {"", ":align=2/16/16/16", ":align=2/2/4/4", ":align=8/4/16/16"}) {
        const Problem asked = parse_problem(problem(m, n_and_k) + align);
        const Choice found = choose(tuned, kA6000, asked, kOneOrder);
        if (!found.config) {
          orders.insert("none: " + found.explanation);
          continue;
        }
        EXPECT_EQ(why_illegal(found.config->recipe, asked), std::nullopt) << to_string(asked);
        orders.insert(order_of_sums(*found.config).value_or("unknown"));
      }
    }
    return orders;
  }

  Database database_ = writable(file_);
};

using Orders = std::set<std::string>;

TEST_F(OneOrderTest, AFasterKernelOfAnotherOrderNeverServes) {
  store(1, mma(16, 4), 4);
  store(16, mma(16, 4), 5);
  store(64, mma(64, 4), 9);
  store(64, mma(64, 1), 2);
  store(128, mma(128, 1), 3);
  EXPECT_EQ(orders_served(tuned(), 200), Orders{"mma MMA_K=16,SPLIT_K=4,BK=64"});
  // Calls that do not ask for it have the fastest.
  const Choice plain = choose(tuned(), kA6000, parse_problem(problem(64)));
  EXPECT_EQ(order_of_sums(*plain.config), "mma MMA_K=16");
}

TEST_F(OneOrderTest, AnEditedTextHasNone) {
  const KernelRevisions edited = {{"mma", "user:0123456789abcdef"}};
  store_measured(database_, kA6000, problem(64), mma(64, 1), 2, edited.at("mma"));
  const Layered all = load_layered(&database_, {}, "sm_86", edited, {}, true);
  EXPECT_EQ(all.tuned.at("sm_86").ordered.order_for(kA6000, parse_problem(problem(64))), nullptr);
}

TEST_F(OneOrderTest, BkIsPartOfTheOrderOfSharesAndOfNoOther) {
  store(1, mma(16, 4, 64), 4);
  store(16, mma(16, 4, 32), 4);
  store(32, mma(32, 4, 32), 4);
  EXPECT_EQ(orders_served(tuned(), 70), Orders{"mma MMA_K=16,SPLIT_K=4,BK=32"});
  store(1, mma(16, 1, 64), 4, "256x512");
  store(16, mma(16, 1, 32), 4, "256x512");
  const Tuned both = tuned();
  EXPECT_EQ(orders_served(both, 20, "256x512"), Orders{"mma MMA_K=16"});
  const auto served = [&](std::int64_t m) {
    return to_string(
        choose(both, kA6000, parse_problem(problem(m, "256x512")), kOneOrder).config->config());
  };
  EXPECT_EQ(served(1), mma(16, 1, 64));
  EXPECT_EQ(served(16), mma(16, 1, 32));
  EXPECT_EQ(served(15), mma(16, 1, 32));
}

TEST_F(OneOrderTest, WinnersOfOtherSizesDoNotServe) {
  store(1, mma(16, 8), 4, "512x2048");
  store(1, mma(16, 4), 4);
  const Tuned all = tuned();
  EXPECT_EQ(orders_served(all, 40), Orders{"mma MMA_K=16,SPLIT_K=4,BK=64"});
  EXPECT_EQ(orders_served(all, 40, "512x2048"), Orders{"mma MMA_K=16,SPLIT_K=8,BK=64"});
  EXPECT_EQ(orders_served(all, 40, "500x1024"), Orders{"mma MMA_K=16"});  // the default's
  const DeviceKey other{"sm_86", "NVIDIA A10", 72};
  EXPECT_EQ(choose(all, other, parse_problem(problem(1)), kOneOrder).match, Match::builtin);
}

TEST_F(OneOrderTest, WithoutAWinnerTheDefaultOfOneOrderServesEveryM) {
  EXPECT_EQ(orders_served(Tuned(), 200), Orders{"mma MMA_K=16"});
  for (const char* types : {"", ":type=f16", ":type=bf16"}) {
    for (const char* layout : {"", ":layout=tn", ":layout=tt"}) {
      Orders orders;
      for (const std::int64_t m : {1, 2, 7, 64, 1000, 100000}) {
        const Problem asked = parse_problem(std::to_string(m) + "x33x70" + types + layout);
        const Choice found = choose(Tuned(), kA6000, asked, kOneOrder);
        ASSERT_NE(found.config, nullptr) << found.explanation;
        orders.insert(order_of_sums(*found.config).value_or("unknown"));
      }
      EXPECT_EQ(orders.size(), 1u) << types << layout;
      EXPECT_FALSE(orders.contains("unknown"));
    }
  }
  EXPECT_EQ(choose(Tuned(), kA6000, parse_problem(problem(1)), {false, false, true}).match,
            Match::none);
}

TEST_F(OneOrderTest, KernelsOfFamiliesThatSayNoOrderAreNoWinners) {
  store_measured(database_, kA6000, "64x512x512", kPredicated, 1);
  const Choice found = choose(tuned(), kA6000, parse_problem("64x512x512"), kOneOrder);
  EXPECT_EQ(found.match, Match::builtin);
  EXPECT_EQ(order_of_sums(*found.config), "warp_tiled rising");
}

TEST_F(OneOrderTest, WhatFinalsVerifiedAtMoreMDecidesWhichOrder) {
  store(1, mma(16, 4), 4);
  store(16, mma(16, 4), 5);
  for (const std::int64_t m : {1, 16, 32}) {  // faster, and tried at more M, without finals
    database_.store(kA6000, parse_problem(problem(m)), mma(16, 1), kRevision, timed_alone(1),
                    Source::measured);
  }
  EXPECT_EQ(orders_served(tuned(), 40), Orders{"mma MMA_K=16,SPLIT_K=4,BK=64"});
}

TEST_F(OneOrderTest, AmongEqualsTheLeastLossDecides) {
  store(1, mma(16, 4), 4);
  store(1, mma(16, 1), 5);
  store(64, mma(16, 4), 9);
  store(64, mma(16, 1), 5);
  EXPECT_EQ(orders_served(tuned(), 70), Orders{"mma MMA_K=16"});
}

TEST_F(OneOrderTest, RandomDatabasesNeverMixOrders) {
  std::mt19937 random(1);
  for (int round = 0; round < 8; ++round) {
    for (int row = 0; row < 3; ++row) {
      const auto pick = [&](int most) {
        return static_cast<int>(random() % static_cast<unsigned>(most));
      };
      const std::string config =
          mma(16 << pick(4), 1 << pick(4), 32 << pick(2), /*predicated=*/pick(2) == 0);
      store(std::int64_t{16} << pick(5), config, 1 + pick(20));
    }
    const Orders orders = orders_served(tuned(), 80);
    EXPECT_EQ(orders.size(), 1u) << round;
    EXPECT_FALSE(orders.contains("unknown"));
  }
}

}  // namespace
}  // namespace gemm_tune
