// SPDX-License-Identifier: Apache-2.0
// The emulator's own rules, on threads written here.
#include "tests/emulator/device/emulator.h"

#include <sanitizer/asan_interface.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/matchers.h"

namespace gemm_tune::emulator {
namespace {

using Thread = std::function<void(Cta&)>;

void run(int block_threads, int smem_bytes, const Thread& thread, const Launch& launch = {}) {
  Emulator emulator(block_threads, smem_bytes);
  emulator.run(launch, thread);
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
  EXPECT_THAT(error, AllOf(HasSubstr("thread 1 of CTA 0 waits at the barrier in kernel.cuh:7"),
                           HasSubstr("thread 2 of CTA 0 has left")));
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
  EXPECT_THAT(error, AllOf(HasSubstr("thread 0 of CTA 0 takes 64 bytes"), HasSubstr("grants 48")));
}

TEST(Emulator, ReportsThreadsThatDisagreeOnASharedArray) {
  const std::string error =
      error_of(2, 64, [](Cta& cta) { cta.take(0, 4 + static_cast<int>(cta.thread.x)); });
  EXPECT_THAT(error, AllOf(HasSubstr("thread 1 of CTA 0 takes 5 floats"), HasSubstr("took 4")));
}

constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};

// Two clusters of 3 CTAs each along the grid's y, for each of 2 along its x.
void run_clusters(int block_threads, const Thread& thread, Order order) {
  Emulator emulator(block_threads, 64, 6);
  emulator.run({{2, 6, 1}, order, 1, 3}, thread);
}

std::string error_of_cluster(const Thread& thread) {
  try {
    run_clusters(2, thread, Order::forward);
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

int index_in_cluster(const Cta& cta) { return static_cast<int>(cta.block.y % 3); }

float value_of(const Cta& cta, int index) {
  return static_cast<float>(cta.block.x * 100 + cta.block.y / 3 * 10) + static_cast<float>(index);
}

// How often a thread reads its neighbour's number from the next CTA of its cluster; with an error
// where `leave_out` is a step without which that goes wrong.
int read_from_peers(Order order, int leave_out) {
  int right = 0;
  run_clusters(
      2,
      [&](Cta& cta) {
        float* const own = cta.take(0, 2);
        const int self = index_in_cluster(cta);
        own[cta.thread.x] = value_of(cta, self);
        const auto meet = [&](int step, int line) {
          if (step == leave_out) return;
          cta.cluster_arrive();
          cta.cluster_wait("kernel", line);
        };
        meet(1, 1);
        const int peer = (self + 1) % 3;
        if (cta.peer_smem(own, peer)[1 - cta.thread.x] == value_of(cta, peer)) ++right;
        meet(2, 2);
      },
      order);
  return right;
}

TEST(EmulatedCluster, GivesEveryCtaTheSharedMemoryOfItsPeers) {
  for (const Order order : kOrders) EXPECT_EQ(read_from_peers(order, 0), 24) << to_string(order);
}

TEST(EmulatedCluster, PoisonsWhatAPeerHasNotTakenYet) {
  EXPECT_DEATH(read_from_peers(Order::forward, 1), "AddressSanitizer: .*-poison");
  EXPECT_DEATH(read_from_peers(Order::reversed, 1), "AddressSanitizer: .*-poison");
}

TEST(EmulatedCluster, PoisonsTheSharedMemoryOfACtaThatHasEnded) {
  EXPECT_DEATH(read_from_peers(Order::forward, 2), "AddressSanitizer: .*-poison");
  EXPECT_DEATH(read_from_peers(Order::reversed, 2), "AddressSanitizer: .*-poison");
}

TEST(EmulatedCluster, LetsNoThreadPassItsBarrierBeforeAllHaveArrived) {
  for (const Order order : kOrders) {
    std::vector<int> arrived(4), missed(4);
    run_clusters(
        2,
        [&](Cta& cta) {
          const std::size_t cluster = cta.block.x + cta.block.y / 3 * 2;
          ++arrived[cluster];
          cta.cluster_arrive();
          cta.cluster_wait("kernel", 1);
          missed[cluster] += 6 - arrived[cluster];
        },
        order);
    EXPECT_THAT(arrived, ElementsAre(6, 6, 6, 6)) << to_string(order);
    EXPECT_THAT(missed, ElementsAre(0, 0, 0, 0)) << to_string(order);
  }
}

TEST(EmulatedCluster, LetsAThreadWorkBetweenArrivingAndWaiting) {
  std::vector<unsigned> seen;
  run_clusters(
      1,
      [&](Cta& cta) {
        cta.cluster_arrive();
        if (cta.block.x == 0 && cta.block.y < 3) seen.push_back(cta.block.y);
        cta.cluster_wait("kernel", 1);
        if (cta.block.x == 0 && cta.block.y < 3) seen.push_back(10 + cta.block.y);
      },
      Order::forward);
  // The last one to arrive need not wait for the others to go on.
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(EmulatedCluster, ReportsACtaThatLeavesWhileOthersWait) {
  const std::string error = error_of_cluster([](Cta& cta) {
    if (cta.block.y == 1) return;
    cta.cluster_arrive();
    cta.cluster_wait("kernel.cuh", 7);
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("thread 0 of CTA 0 waits at the cluster's barrier in kernel.cuh:7"),
                    HasSubstr("thread 0 of CTA 0,1,0 has left")));
}

TEST(EmulatedCluster, ReportsThreadsThatDoNotArriveAndWaitInTurn) {
  EXPECT_THAT(error_of_cluster([](Cta& cta) { cta.cluster_wait("kernel", 1); }),
              HasSubstr("without arriving"));
  EXPECT_THAT(error_of_cluster([](Cta& cta) {
                cta.cluster_arrive();
                cta.cluster_arrive();
              }),
              HasSubstr("arrives at a barrier twice"));
}

TEST(EmulatedCluster, ReportsAPeerThatIsNoneAndWhatIsNoSharedMemory) {
  EXPECT_THAT(error_of_cluster([](Cta& cta) { cta.peer_smem(cta.take(0, 4), 3); }),
              HasSubstr("a CTA outside its cluster"));
  const float elsewhere = 0;
  EXPECT_THAT(error_of_cluster([&](Cta& cta) { cta.peer_smem(&elsewhere, 0); }),
              HasSubstr("not in its shared memory"));
}

TEST(EmulatedCluster, IsRefusedWhereItDoesNotDivideTheGrid) {
  Emulator emulator(1, 0, 8);
  const auto thread = [](Cta&) {};
  EXPECT_THROW(emulator.run({{1, 4, 1}, Order::forward, 1, 3}, thread), ExecutionError);
  EXPECT_THROW(emulator.run({{1, 9, 1}, Order::forward, 1, 9}, thread), ExecutionError);
}

}  // namespace
}  // namespace gemm_tune::emulator
