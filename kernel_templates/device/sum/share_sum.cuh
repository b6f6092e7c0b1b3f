// SPDX-License-Identifier: Apache-2.0
// Adds up what several CTAs computed of one tile, in an order that does not depend on which of them
// came first: results are bitwise the same from run to run.
//
// Every CTA leaves its sums in the workspace and draws a ticket; the last one adds all of them in
// order. Many shares are added in groups first, so that no CTA reads more than about twice the
// square root of them. Counters are zero before and after a launch (core/launch/launch_recipe.h).
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune {

// How many shares are added at once: all of a few, about the square root of many.
__device__ inline int share_group(int shares) {
  if (shares <= 8) return shares;
  int group = 4;
  while (group * group < shares) ++group;
  return group;
}

// The greatest divisor of n that is at most `most`.
constexpr int greatest_divisor(int n, int most) {
  int divisor = min_of(n, most);
  while (n % divisor != 0) --divisor;
  return divisor;
}

// SUMS per thread of a CTA's first THREADS; all CTAs deal a tile out to their threads in the same
// way. Threads past these take part in the barriers only.
template <int THREADS, int SUMS>
class ShareSum {
 public:
  // Called by all threads of each CTA that has one of `shares` shares of a tile, 0 <= share <
  // shares. True in one of these CTAs only, whose sums then are those of all shares. counters:
  // shares + 1 of them, the tile's own. slot_of(share): where that share's sums lie in
  // args.partials, in units of THREADS * SUMS floats.
  template <class SlotOf>
  static __device__ bool add(float* sums, float* partials, int* counters, int share, int shares,
                             SlotOf slot_of) {
    const int group = share_group(shares);
    // The shares of a group first, then the sums of the groups; in a loop, since the compiler takes
    // as long for a second copy of this text as for the main loop.
    int first = share / group * group, step = 1, own = share;
    int count = min_of(group, shares - first);
    int* counter = counters + 1 + share / group;
#pragma unroll 1
    for (;;) {
      store(sums, partials, slot_of(own));
      if (!is_last(counter, count)) return false;
      sum_up(sums, partials, count, [&](int i) { return slot_of(first + i * step); });
      if (group == shares || step == group) return true;
      own = first;  // nobody else reads this group's shares
      first = 0;
      step = group;
      count = (shares - 1) / group + 1;
      counter = counters;
    }
  }

 private:
  static __device__ float* place(float* partials, int slot) {
    return partials + static_cast<long long>(slot) * SUMS * THREADS + static_cast<int>(threadIdx.x);
  }

  static __device__ bool holds() { return static_cast<int>(threadIdx.x) < THREADS; }

  // Element by element: neighbouring threads still fill whole lines, and vectors would force the
  // sums into neighbouring registers, which slows the main loop down (64 of 1,024 multiplications
  // with all operands in one bank at 16 x 8 sums).
  static __device__ void store(const float* sums, float* partials, int slot) {
    if (!holds()) return;
    float* const to = place(partials, slot);
#pragma unroll
    for (int i = 0; i < SUMS; ++i) to[i * THREADS] = sums[i];
  }

  // Whether this CTA draws the last of `count` tickets; the counter is zero again then. What the
  // CTAs with the other tickets stored before is visible after it.
  static __device__ bool is_last(int* counter, int count) {
    __threadfence();
    __syncthreads();
    bool last = false;
    if (threadIdx.x == 0) {
      last = atomicAdd(counter, 1) == count - 1;
      if (last) *counter = 0;
    }
    last = __syncthreads_or(last) != 0;
    __threadfence();
    return last;
  }

  // Loads under way per thread, as many as hide their latency: of several shares where a thread has
  // few sums, since a share at a time would wait for the L2 as often as there are shares.
  static constexpr int kLoads = 64;
  static constexpr int kSumsAtOnce = greatest_divisor(SUMS, kLoads);
  static constexpr int kSharesAtOnce = kLoads / kSumsAtOnce;

  template <class SlotOf>
  static __device__ void sum_up(float* sums, float* partials, int count, SlotOf slot_of) {
    if (!holds()) return;
#pragma unroll
    for (int first = 0; first < SUMS; first += kSumsAtOnce) {
      float total[kSumsAtOnce] = {};
      add_shares<kSharesAtOnce>(total, partials + first * THREADS, 0, count, slot_of);
#pragma unroll
      for (int i = 0; i < kSumsAtOnce; ++i) sums[first + i] = total[i];
    }
  }

  // The shares from `share` on, COUNT at a time, then half as many: tests between the loads would
  // make some wait for others.
  template <int COUNT, class SlotOf>
  static __device__ void add_shares(float (&total)[kSumsAtOnce], float* partials, int share,
                                    int count, SlotOf slot_of) {
#pragma unroll 1
    for (; share + COUNT <= count; share += COUNT) {
      float loaded[COUNT][kSumsAtOnce];
#pragma unroll
      for (int s = 0; s < COUNT; ++s) {
        const float* const from = place(partials, slot_of(share + s));
        // Past L1, which does not see other SMs' stores.
#pragma unroll
        for (int i = 0; i < kSumsAtOnce; ++i) loaded[s][i] = __ldcg(from + i * THREADS);
      }
#pragma unroll
      for (int s = 0; s < COUNT; ++s) {
#pragma unroll
        for (int i = 0; i < kSumsAtOnce; ++i) total[i] += loaded[s][i];
      }
    }
    if constexpr (COUNT > 1) add_shares<COUNT / 2>(total, partials, share, count, slot_of);
  }
};

}  // namespace gemm_tune
