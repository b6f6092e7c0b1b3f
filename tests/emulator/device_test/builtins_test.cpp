// SPDX-License-Identifier: Apache-2.0
// CUDA's built-ins as an emulated kernel sees them, on kernels written here.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/device/emulator.h"
// Last: its macros are CUDA's names.
#include "tests/emulator/device/cuda_on_cpu.h"
#include "tests/matchers.h"

namespace gemm_tune::emulator {
namespace {

constexpr Order kOrders[] = {Order::forward, Order::reversed, Order::shuffled};
constexpr int kSmemBytes = 1024;

int thread_id() { return static_cast<int>(threadIdx.x); }

void run(int threads, const std::function<void()>& kernel, const Launch& launch = {},
         int resident_ctas = 1) {
  Emulator emulator(threads, kSmemBytes, resident_ctas);
  emulator.run(launch, [&](Cta& cta) {
    current = &cta;
    kernel();
  });
}

std::string error_of(int threads, const std::function<void()>& kernel) {
  try {
    run(threads, kernel);
  } catch (const ExecutionError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SyncthreadsOr, TellsEveryThreadWhetherAnyCameWithTrue) {
  for (const Order order : kOrders) {
    std::vector<int> answers;
    run(40,
        [&] {
          for (const int odd_one : {39, -1, 0}) {
            const int any = __syncthreads_or(thread_id() == odd_one);
            if (thread_id() == 7) answers.push_back(any);
          }
        },
        {{1}, order, 1});
    EXPECT_THAT(answers, ElementsAre(1, 0, 1)) << to_string(order);
  }
}

TEST(AtomicAdd, GivesEveryThreadOfEveryCtaATicketOfItsOwn) {
  int counter = 0;
  std::vector<int> tickets;
  run(
      3, [&] { tickets.push_back(atomicAdd(&counter, 1)); }, {{2}, Order::shuffled, 1}, 2);
  EXPECT_EQ(counter, 6);
  std::sort(tickets.begin(), tickets.end());
  EXPECT_THAT(tickets, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ShflXorSync, AddsUpEachWarp) {
  for (const Order order : kOrders) {
    std::vector<float> sums(64);
    run(64,
        [&] {
          float sum = static_cast<float>(thread_id());
          for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
          sums[threadIdx.x] = sum;
        },
        {{1}, order, 1});
    EXPECT_THAT(std::vector(sums.begin(), sums.begin() + 32), Each(496.0f)) << to_string(order);
    EXPECT_THAT(std::vector(sums.begin() + 32, sums.end()), Each(1520.0f)) << to_string(order);
  }
}

TEST(ShflXorSync, WaitsForNoOtherWarp) {
  float received = 0;
  run(64, [&] {
    if (threadIdx.x < 32) {
      const float value = __shfl_xor_sync(0xffffffff, static_cast<float>(threadIdx.x), 1);
      if (threadIdx.x == 4) received = value;
    }
    __syncthreads();
  });
  EXPECT_EQ(received, 5);
}

TEST(ShflXorSync, ReportsLanesThatDiverge) {
  const std::string error = error_of(32, [] {
    if (threadIdx.x != 3) __shfl_xor_sync(0xffffffff, 1.0f, 1);
  });
  EXPECT_THAT(error, StartsWith("thread 2 of CTA 0 waits at the shuffle in "));
  EXPECT_THAT(error, HasSubstr("but thread 3 of CTA 0 has left the kernel"));
}

TEST(ShflXorSync, ReportsLanesAtABarrierWhereOthersShuffle) {
  const std::string error = error_of(64, [] {
    if (threadIdx.x < 40) {
      __syncthreads();
    } else {
      __shfl_xor_sync(0xffffffff, 1.0f, 1);
    }
  });
  EXPECT_THAT(error, StartsWith("thread 39 of CTA 0 waits at the barrier in "));
  EXPECT_THAT(error, HasSubstr("but thread 40 of CTA 0 waits at the shuffle in "));
}

TEST(ShflXorSync, ReportsWhatAGpuLeavesUndefined) {
  EXPECT_THAT(error_of(40, [] { __shfl_xor_sync(0xffffffff, 1.0f, 1); }),
              AllOf(StartsWith("thread 32 of CTA 0 waits at the shuffle in "),
                    EndsWith(" in a warp of fewer than 32 lanes")));
  EXPECT_THAT(error_of(32, [] { __shfl_xor_sync(0xffff, 1.0f, 1); }),
              AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("shuffles among some lanes")));
  EXPECT_THAT(error_of(32, [] { __shfl_xor_sync(0xffffffff, 1.0f, 32); }),
              AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("lane outside its warp")));
}

// Threads hand a value to their neighbour through shared memory; NaN where one came too early.
std::vector<float> handed_over(Order order, const std::function<void()>& meet) {
  std::vector<float> got(32);
  run(32,
      [&] {
        float* const box = SharedMemory().take(32);
        box[threadIdx.x] = 1;
        meet();
        got[threadIdx.x] = box[threadIdx.x ^ 1];
      },
      {{1}, order, 1});
  return got;
}

TEST(Syncwarp, MakesWritesOfTheWarpVisible) {
  for (const Order order : kOrders) {
    EXPECT_THAT(handed_over(order, [] { __syncwarp(); }), Each(1.0f)) << to_string(order);
    EXPECT_THAT(handed_over(order, [] {}), Contains(testing::IsNan())) << to_string(order);
  }
}

TEST(LoadsWithCacheHints, ReadMemory) {
  const float4 value = {1, 2, 3, 4};
  EXPECT_EQ(__ldcg(&value).w, 4);
  EXPECT_EQ(__ldcs(&value).x, 1);
}

// --- asynchronous copies ------------------------------------------------------------------------

struct alignas(16) Source {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
};

TEST(CopyAsync, LandsWhenItsGroupIsWaitedForAndNotBefore) {
  const Source from;
  run(1, [&] {
    float* const to = SharedMemory().take(8);
    to[0] = 9;
    copy_async_if<16>(to, from.x, true);
    EXPECT_TRUE(std::isnan(to[0]));
    commit_copies();
    copy_async_if<8>(to + 4, from.x + 4, true);
    commit_copies();
    wait_copies<2>();
    EXPECT_TRUE(std::isnan(to[0]));
    wait_copies<1>();
    EXPECT_EQ(to[0], 1);
    EXPECT_EQ(to[3], 4);
    EXPECT_TRUE(std::isnan(to[4]));
    wait_copies<0>();
    EXPECT_EQ(to[5], 6);
  });
}

TEST(CopyAsync, IsNoticedWhereNobodyWaits) {
  const Source from;
  const auto start = [&] { copy_async_if<4>(SharedMemory().take(4), from.x, true); };
  EXPECT_THAT(error_of(1, start),
              AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("did not commit")));
  EXPECT_THAT(error_of(1,
                       [&] {
                         start();
                         commit_copies();
                       }),
              AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("ends without waiting")));
}

TEST(CopyAsync, LeavesGroupsOfNothingUnwaitedFor) {
  EXPECT_EQ(error_of(1, [] { commit_copies(); }), "no error");
}

// Each thread copies one element; NaN where a thread reads its neighbour's too early.
std::vector<float> copied_by_neighbours(Order order, const std::function<void()>& meet) {
  static const Source from;
  std::vector<float> got(8);
  run(8,
      [&] {
        float* const to = SharedMemory().take(8);
        copy_async_if<4>(to + threadIdx.x, from.x + threadIdx.x, true);
        commit_copies();
        meet();
        got[threadIdx.x] = to[threadIdx.x ^ 1];
        __syncthreads();
        wait_copies<0>();
      },
      {{1}, order, 1});
  return got;
}

TEST(CopyAsync, NeedsAWaitAndABarrierAfterIt) {
  for (const Order order : kOrders) {
    EXPECT_THAT(copied_by_neighbours(order,
                                     [] {
                                       wait_copies<0>();
                                       __syncthreads();
                                     }),
                ElementsAre(2, 1, 4, 3, 6, 5, 8, 7));
    EXPECT_THAT(copied_by_neighbours(order, [] { wait_copies<0>(); }), Contains(testing::IsNan()))
        << "no barrier, " << to_string(order);
    EXPECT_THAT(copied_by_neighbours(order, [] { __syncthreads(); }), Each(testing::IsNan()))
        << "no wait, " << to_string(order);
    EXPECT_THAT(copied_by_neighbours(order,
                                     [] {
                                       wait_copies<1>();
                                       __syncthreads();
                                     }),
                Each(testing::IsNan()))
        << "too weak a wait, " << to_string(order);
    EXPECT_THAT(copied_by_neighbours(order,
                                     [] {
                                       __syncthreads();
                                       wait_copies<0>();
                                     }),
                Contains(testing::IsNan()))
        << "the barrier ahead of the wait, " << to_string(order);
  }
}

TEST(CopyAsync, IsNoticedWhereItOverwritesWhatOthersStillRead) {
  const Source from;
  for (const Order order : kOrders) {
    std::vector<float> got;
    run(2,
        [&] {
          float* const array = SharedMemory().take(4);
          array[threadIdx.x] = 5;
          __syncthreads();
          got.push_back(array[threadIdx.x ^ 1]);
          copy_async_if<4>(array + threadIdx.x, from.x, true);  // a barrier is missing ahead of it
          commit_copies();
          wait_copies<0>();
        },
        {{1}, order, 1});
    EXPECT_NE(got, (std::vector<float>{5, 5})) << to_string(order);
  }
}

TEST(CopyAsync, ReportsADestinationThatWasWrittenMeanwhile) {
  const Source from;
  EXPECT_THAT(error_of(1,
                       [&] {
                         float* const to = SharedMemory().take(4);
                         copy_async_if<4>(to, from.x, true);
                         commit_copies();
                         to[0] = 1;
                         wait_copies<0>();
                       }),
              AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("destination was written")));
}

TEST(CopyAsync, ReportsAddressesThatAreNotAligned) {
  const Source from;
  EXPECT_THAT(
      error_of(1, [&] { copy_async_if<8>(SharedMemory().take(4) + 1, from.x, true); }),
      AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("8 bytes asynchronously to an address")));
  EXPECT_THAT(
      error_of(1, [&] { copy_async_or_zero<16>(SharedMemory().take(4), from.x + 2, false); }),
      AllOf(HasSubstr("thread 0 of CTA 0"), HasSubstr("16 bytes asynchronously from an address")));
}

TEST(CopyAsync, FillsWithZerosOrNothingAndReadsNothingThen) {
  const auto from = std::make_unique<float[]>(2);  // reading the third ends the process
  from[0] = 1;
  from[1] = 2;
  run(1, [&] {
    float* const to = SharedMemory().take(16);
    copy_async_or_zero<16>(to, from.get(), false);
    to[4] = 7;
    copy_async_if<16>(to + 4, from.get(), false);
    copy_async_or_zero<8>(to + 6, from.get(), true);
    copy_async_if<4, 8>(to + 6, from.get(), true);
    commit_copies();
    wait_copies<0>();
    EXPECT_THAT(std::vector(to, to + 5), ElementsAre(0, 0, 0, 0, 7));
    EXPECT_THAT(std::vector(to + 6, to + 9), ElementsAre(1, 2, 1));
  });
}

// --- CTAs that depend on each other -------------------------------------------------------------

// Two CTAs add up their threads' ones: each leaves them in global memory and draws a ticket, the
// last one adds. How often the sum was wrong.
int wrong_sums(const std::function<void()>& before_ticket) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<int> left(64);
    int counter = 0, sum = 0;
    run(
        32,
        [&] {
          left[blockIdx.x * 32 + threadIdx.x] = 1;
          before_ticket();
          const bool last = threadIdx.x == 0 && atomicAdd(&counter, 1) == 1;
          if (__syncthreads_or(last)) sum += left[threadIdx.x] + left[threadIdx.x + 32];
        },
        {{2}, Order::shuffled, seed}, 2);
    wrong += sum != 64;
  }
  return wrong;
}

TEST(ResidentCtas, TakeTurnsSoThatAMissingBarrierBetweenThemShows) {
  EXPECT_EQ(wrong_sums([] { __syncthreads(); }), 0);
  EXPECT_GE(wrong_sums([] {}), 5);
}

}  // namespace
}  // namespace gemm_tune::emulator
