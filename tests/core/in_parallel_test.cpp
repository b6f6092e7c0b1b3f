// SPDX-License-Identifier: Apache-2.0
#include "core/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace gemm_tune {
namespace {

TEST(InParallelTest, DoesEachPieceOnceWhateverTheNumberOfThreads) {
  for (const std::size_t threads : {0u, 1u, 2u, 5u, 200u}) {
    std::vector<std::atomic<int>> done(100);
    in_parallel(threads, done.size(), [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& one : done) EXPECT_EQ(one, 1) << threads;
  }
  in_parallel(4, 0, [](std::size_t) { FAIL() << "there is no work"; });
}

TEST(InParallelTest, RethrowsWhatAPieceThrewOnceNoneIsUnderWay) {
  for (const std::size_t threads : {1u, 4u}) {
    std::atomic<int> under_way = 0;
    const auto work = [&](std::size_t i) {
      ++under_way;
      --under_way;
      if (i == 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(in_parallel(threads, 50, work), std::runtime_error);
    EXPECT_EQ(under_way, 0);
  }
}

}  // namespace
}  // namespace gemm_tune
