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
    const int first = share / group * group;
    const int in_group = first + group <= shares ? group : shares - first;
    store(sums, partials, slot_of(share));
    if (!is_last(counters + 1 + share / group, in_group)) return false;
    sum_up(sums, partials, in_group, [&](int i) { return slot_of(first + i); });
    if (group == shares) return true;
    store(sums, partials, slot_of(first));  // nobody else reads this group's shares
    const int groups = (shares - 1) / group + 1;
    if (!is_last(counters, groups)) return false;
    sum_up(sums, partials, groups, [&](int i) { return slot_of(i * group); });
    return true;
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

  // Loads under way per thread, as many as hide their latency: of several shares, since a share at
  // a time would wait for the L2 as often as there are shares.
  static constexpr int kLoads = 64;
  static constexpr int kSharesAtOnce = SUMS <= 32 ? 8 : 4;
  static constexpr int kSumsAtOnce = min_of(SUMS, kLoads / kSharesAtOnce);
  static_assert(SUMS % kSumsAtOnce == 0);

  template <class SlotOf>
  static __device__ void sum_up(float* sums, const float* partials, int count, SlotOf slot_of) {
    if (!holds()) return;
#pragma unroll
    for (int first = 0; first < SUMS; first += kSumsAtOnce) {
      float total[kSumsAtOnce] = {};
#pragma unroll 1
      for (int share = 0; share < count; share += kSharesAtOnce) {
        float loaded[kSharesAtOnce][kSumsAtOnce] = {};
#pragma unroll
        for (int s = 0; s < kSharesAtOnce; ++s) {
          if (share + s >= count) break;
          const float* const from = place(const_cast<float*>(partials), slot_of(share + s));
          // Past L1, which does not see other SMs' stores.
#pragma unroll
          for (int i = 0; i < kSumsAtOnce; ++i) loaded[s][i] = __ldcg(from + (first + i) * THREADS);
        }
#pragma unroll
        for (int s = 0; s < kSharesAtOnce; ++s) {
#pragma unroll
          for (int i = 0; i < kSumsAtOnce; ++i) total[i] += loaded[s][i];
        }
      }
#pragma unroll
      for (int i = 0; i < kSumsAtOnce; ++i) sums[first + i] = total[i];
    }
  }
};

}  // namespace gemm_tune
