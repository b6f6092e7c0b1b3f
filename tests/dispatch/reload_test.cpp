// SPDX-License-Identifier: Apache-2.0
// A database that changes while a handle is open: gt_reload and gt_refresh, without a GPU.
#include <gemm_tune/gemm_tune.h>

#include <atomic>
#include <fstream>
#include <gemm_tune/gemm_tune.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_test.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr gt_device kReloadDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};

class ReloadTest : public SampleTest {
 protected:
  gt_match match(std::int64_t edge) {
    const gt_gemm_call call = make_call(edge, edge, edge);
    gt_recipe recipe;
    EXPECT_EQ(gt_lookup(handle_, &kReloadDevice, &call, &recipe), GT_OK) << gt_last_error();
    return recipe.match;
  }

  // Stores a measured row for edge^3; beside cuBLAS's time, as finals do, or without.
  void store(std::int64_t edge, bool beside_cublas) const {
    Database database(database_, Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune", 1});
    const Problem problem = packed_problem(edge, edge, edge);
    const Outcome measured = measured_in(20);
    database.store(kSampleDevice, problem, kSampleConfig, current_revisions().at("vectorized_2d"),
                   measured, Source::measured);
    if (!beside_cublas) return;
    database.store_baseline(kSampleDevice, problem,
                            {"cublasSgemm", "13.1.0", Timing{30.0, {29.0, 30.0, 31.0}, 4}});
  }

  // Whether the winners are others now.
  bool refresh() {
    int changed = -1;
    EXPECT_EQ(gt_refresh(handle_, &changed), GT_OK) << gt_last_error();
    EXPECT_TRUE(changed == 0 || changed == 1) << changed;
    return changed == 1;
  }
};

TEST_F(ReloadTest, AChangedDatabaseIsSeenAfterReload) {
  EXPECT_EQ(match(2048), GT_MATCH_NEAREST);
  store(2048, /*beside_cublas=*/false);
  EXPECT_EQ(match(2048), GT_MATCH_NEAREST);
  EXPECT_EQ(gt_reload(handle_), GT_OK) << gt_last_error();
  EXPECT_EQ(match(2048), GT_MATCH_EXACT);
  EXPECT_EQ(gt_reload(nullptr), GT_INVALID_ARGUMENT);
}

TEST_F(ReloadTest, AReloadThatFailsLeavesTheWinners) {
  std::filesystem::remove(database_);
  EXPECT_EQ(gt_reload(handle_), GT_DATABASE_ERROR);
  EXPECT_THAT(gt_last_error(), HasSubstr("winners.db"));
  EXPECT_EQ(match(1024), GT_MATCH_EXACT);
}

TEST_F(ReloadTest, ARefreshTakesAWinnerOnceItWasTimedBesideALibrary) {
  EXPECT_FALSE(refresh());
  store(2048, /*beside_cublas=*/false);  // as while its search goes on
  EXPECT_FALSE(refresh());
  EXPECT_EQ(match(2048), GT_MATCH_NEAREST);
  store(2048, /*beside_cublas=*/true);
  EXPECT_EQ(match(2048), GT_MATCH_NEAREST);
  EXPECT_TRUE(refresh());
  EXPECT_EQ(match(2048), GT_MATCH_EXACT);
  EXPECT_EQ(match(1024), GT_MATCH_EXACT);
  EXPECT_FALSE(refresh());
  EXPECT_EQ(gt_refresh(handle_, nullptr), GT_OK) << gt_last_error();
  EXPECT_EQ(gt_refresh(nullptr, nullptr), GT_INVALID_ARGUMENT);
}

TEST_F(ReloadTest, WhatAReloadHasReadIsNewToNoRefresh) {
  store(2048, /*beside_cublas=*/true);
  EXPECT_EQ(gt_reload(handle_), GT_OK) << gt_last_error();
  EXPECT_FALSE(refresh());
}

// Garbage of the same size and time stands for a file that has not changed.
TEST_F(ReloadTest, ARefreshOpensNoFileThatHasNotChanged) {
  EXPECT_FALSE(refresh());
  const auto time = std::filesystem::last_write_time(database_);
  std::fstream(database_, std::ios::in | std::ios::out | std::ios::binary) << "garbage";
  std::filesystem::last_write_time(database_, time);
  EXPECT_FALSE(refresh());
  std::filesystem::last_write_time(database_, time + std::chrono::seconds(1));
  EXPECT_EQ(gt_refresh(handle_, nullptr), GT_DATABASE_ERROR);
}

TEST_F(ReloadTest, ARefreshThatFailsLeavesTheWinnersAndTheNextOneTriesAgain) {
  const std::filesystem::path aside = directory_ / "aside";
  std::filesystem::rename(database_, aside);
  for (int i = 0; i < 2; ++i) {
    int changed = 7;
    EXPECT_EQ(gt_refresh(handle_, &changed), GT_DATABASE_ERROR);
    EXPECT_THAT(gt_last_error(), HasSubstr("winners.db"));
    EXPECT_EQ(changed, 7);
  }
  EXPECT_EQ(match(1024), GT_MATCH_EXACT);
  std::filesystem::rename(aside, database_);
  store(2048, /*beside_cublas=*/true);
  EXPECT_TRUE(refresh());
  EXPECT_EQ(match(2048), GT_MATCH_EXACT);
}

TEST_F(ReloadTest, ADatabaseBehindALinkIsSeenToChange) {
  const std::filesystem::path link = directory_ / "link.db";
  std::filesystem::create_symlink(database_, link);
  gt_close(handle_);
  ASSERT_EQ(open_database(link, &handle_), GT_OK) << gt_last_error();
  // A writer that stays leaves the row in the log.
  const Database writer(database_, Database::Mode::create_or_open);
  store(2048, /*beside_cublas=*/true);
  EXPECT_TRUE(refresh());
  EXPECT_EQ(match(2048), GT_MATCH_EXACT);
}

TEST_F(ReloadTest, ReloadsWhileOthersLookUp) {
  std::atomic<bool> done = false;
  std::vector<std::jthread> readers;
  for (int thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&, thread] {
      for (int i = 0; !done; ++i) {
        const gt_gemm_call call = make_call(64 + i % 50, 64 + thread, 64);
        gt_recipe recipe;
        EXPECT_EQ(gt_lookup(handle_, &kReloadDevice, &call, &recipe), GT_OK) << gt_last_error();
        EXPECT_GT(recipe.distance, 1);  // from a winner
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(gt_reload(handle_), GT_OK) << gt_last_error();
  done = true;
}

TEST_F(ReloadTest, EachCallGetsTheWinnersBeforeARefreshOrThoseAfterIt) {
  std::atomic<int> refreshed = 0;
  std::vector<std::jthread> readers;
  for (int thread = 0; thread < 3; ++thread) {
    readers.emplace_back([&] {
      for (int seen = 0; seen < 8; seen = refreshed) {
        for (int i = 0; i < 8; ++i) {
          const int before = refreshed;
          const gt_match found = match(2048 + 64 * i);
          const int after = refreshed;
          EXPECT_TRUE(found == GT_MATCH_EXACT || found == GT_MATCH_NEAREST);
          // One may just be taken.
          EXPECT_TRUE(i >= before || found == GT_MATCH_EXACT) << i;
          EXPECT_TRUE(i <= after || found == GT_MATCH_NEAREST) << i;
        }
      }
    });
  }
  for (int i = 0; i < 8; ++i) {
    store(2048 + 64 * i, /*beside_cublas=*/true);
    EXPECT_TRUE(refresh());
    ++refreshed;
  }
}

}  // namespace
}  // namespace gemm_tune
