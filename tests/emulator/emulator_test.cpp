// The emulator's own rules, on threads written here.
#include "tests/emulator/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace gemm_tune::emulator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Thread = std::function<void(Cta&)>;

void run(int block_threads, int smem_bytes, const Thread& thread, const Launch& launch = {}) {
  Emulator emulator(block_threads, smem_bytes);
  emulator.run(
      launch, [&](Cta& cta, const GemmArgs&) { thread(cta); }, GemmArgs{});
}

std::string error_of(int block_threads, int smem_bytes, const Thread& thread) {
  try {
    run(block_threads, smem_bytes, thread);
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<unsigned> thread_order(Order order) {
  std::vector<unsigned> seen;
  run(4, 0, [&](Cta& cta) { seen.push_back(cta.thread.x); }, {{1}, order, 1});
  return seen;
}

TEST(Emulator, RunsThreadsForwardReversedAndShuffled) {
  EXPECT_THAT(thread_order(Order::forward), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(thread_order(Order::reversed), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(thread_order(Order::shuffled), UnorderedElementsAre(0, 1, 2, 3));
}

TEST(Emulator, RunsEveryThreadOfEveryCtaWithItsIndices) {
  std::vector<std::string> seen;
  run(2, 0,
      [&](Cta& cta) {
        seen.push_back(std::to_string(cta.block.x) + "/" + std::to_string(cta.grid_dim.x) + " " +
                       std::to_string(cta.thread.x) + "/" + std::to_string(cta.block_dim.x));
      },
      {{2}, Order::forward, 1});
  EXPECT_THAT(seen, ElementsAre("0/2 0/2", "0/2 1/2", "1/2 0/2", "1/2 1/2"));
}

TEST(Emulator, LetsNoThreadPassABarrierBeforeAllHaveComeToIt) {
  std::vector<std::string> seen;
  run(2, 0, [&](Cta& cta) {
    const std::string self = std::to_string(cta.thread.x);
    seen.push_back(self + " before");
    cta.barrier(false, "kernel", 1);
    seen.push_back(self + " after");
  });
  EXPECT_THAT(seen, ElementsAre("0 before", "1 before", "0 after", "1 after"));
}

TEST(Emulator, ReportsThreadThatLeavesWhileOthersWait) {
  const std::string error = error_of(4, 0, [](Cta& cta) {
    if (cta.thread.x != 2) cta.barrier(false, "kernel.cuh", 7);
  });
  EXPECT_EQ(error,
            "thread 1 of CTA 0 waits at the barrier in kernel.cuh:7, but thread 2 of CTA 0 has "
            "left the kernel");
}

TEST(Emulator, ReportsThreadsThatWaitAtDifferentBarriers) {
  const std::string error =
      error_of(2, 0, [](Cta& cta) { cta.barrier(false, "kernel.cuh", cta.thread.x == 0 ? 7 : 8); });
  EXPECT_THAT(error, HasSubstr("kernel.cuh:7, but thread 1 of CTA 0 waits at the barrier in "
                               "kernel.cuh:8"));
}

TEST(Emulator, GivesEveryThreadTheSameArrays) {
  run(8, 64, [](Cta& cta) {
    cta.take(0, 8)[cta.thread.x] = static_cast<float>(cta.thread.x);
    cta.barrier(false, "kernel", 1);
    EXPECT_EQ(cta.take(0, 8)[7 - cta.thread.x], static_cast<float>(7 - cta.thread.x));
  });
}

TEST(Emulator, FillsSharedMemoryWithNanBeforeEachCta) {
  run(1, 16,
      [](Cta& cta) {
        float* const array = cta.take(0, 4);
        EXPECT_TRUE(std::isnan(array[0]));
        EXPECT_TRUE(std::isnan(array[3]));
        array[0] = array[3] = 1;
      },
      {{2}, Order::forward, 1});
}

TEST(Emulator, PoisonsWhatLiesAroundSharedArrays) {
  run(1, 64, [](Cta& cta) {
    float* const first = cta.take(0, 5);
    float* const second = cta.take(1, 4);
    EXPECT_FALSE(__asan_address_is_poisoned(first + 4));
    EXPECT_TRUE(__asan_address_is_poisoned(first + 5));
    EXPECT_TRUE(__asan_address_is_poisoned(first - 1));
    EXPECT_TRUE(__asan_address_is_poisoned(second - 1));
    EXPECT_TRUE(__asan_address_is_poisoned(second + 4));
  });
}

TEST(Emulator, ReportsMoreSharedMemoryThanTheRecipeGrants) {
  const std::string error = error_of(1, 48, [](Cta& cta) {
    cta.take(0, 5);
    cta.take(1, 5);
  });
  EXPECT_EQ(error, "thread 0 of CTA 0 takes 64 bytes of shared memory where the recipe grants 48");
}

TEST(Emulator, ReportsThreadsThatDisagreeOnASharedArray) {
  const std::string error =
      error_of(2, 64, [](Cta& cta) { cta.take(0, 4 + static_cast<int>(cta.thread.x)); });
  EXPECT_EQ(error,
            "thread 1 of CTA 0 takes 5 floats as shared array 0 where another thread took 4");
}

}  // namespace
}  // namespace gemm_tune::emulator
