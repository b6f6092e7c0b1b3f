// SPDX-License-Identifier: Apache-2.0
// Adds up what several CTAs computed of one tile by a reduction kernel, on all SMs at once, in the
// order of the shares: bitwise the same from run to run.
//
// Does what ShareSum does, without its tickets: there the last CTA of a tile reads all shares at
// the rate at which one SM loads, while the others have nothing left to do.
#pragma once

#include "kernel_templates/device/element/vec.cuh"
#include "kernel_templates/device/sum/reduce_shape.cuh"

namespace gemm_tune {

// SUMS for each of a CTA's THREADS; all CTAs deal a tile out to their threads in the same way.
template <int THREADS, int SUMS>
class ShareReduce {
 public:
  // Of the units of a tile a thread of the reduction kernel gets one.
  static constexpr int kUnits = SUMS / kReduceSums * THREADS;
  static_assert(SUMS % kReduceSums == 0 && kUnits % kReduceThreads == 0);

  // The thread of the kernel whose sums a unit is, and the first of them.
  static __device__ int thread_of(int unit) { return unit % THREADS; }
  static __device__ int first_of(int unit) { return unit / THREADS * kReduceSums; }

  // Called by all THREADS of a CTA that has a share. Element by element, as in ShareSum.
  static __device__ void leave(const float* sums, float* partials, int slot, int thread) {
    float* const to = partials + place(slot, thread);
#pragma unroll
    for (int i = 0; i < SUMS; ++i) to[i * THREADS] = sums[i];
  }

  // The unit's sums over so many slots from `first` on.
  static __device__ Vec<kReduceSums> sum_up(const float* partials, int first, int shares,
                                            int unit) {
    const float* from = partials + place(first, thread_of(unit)) + first_of(unit) * THREADS;
    Vec<kReduceSums> total = {};
    add<kAtOnce>(total, from, shares);
    return total;
  }

 private:
  // Shares whose loads are under way at once: enough to wait for the L2 a few times only.
  static constexpr int kAtOnce = 16;

  // So many shares at a time, then half as many: tests between the loads would make some wait for
  // others.
  template <int COUNT>
  static __device__ void add(Vec<kReduceSums>& total, const float* from, int shares) {
#pragma unroll 1
    for (; shares >= COUNT; shares -= COUNT) {
      Vec<kReduceSums> loaded[COUNT];
#pragma unroll
      for (int s = 0; s < COUNT; ++s) {
#pragma unroll
        for (int i = 0; i < kReduceSums; ++i) {
          loaded[s].x[i] = __ldcg(from + (s * SUMS + i) * THREADS);
        }
      }
#pragma unroll
      for (int s = 0; s < COUNT; ++s) {
#pragma unroll
        for (int i = 0; i < kReduceSums; ++i) total.x[i] += loaded[s].x[i];
      }
      from += COUNT * SUMS * THREADS;
    }
    if constexpr (COUNT > 1) add<COUNT / 2>(total, from, shares);
  }

  static __device__ long long place(int slot, int thread) {
    return static_cast<long long>(slot) * SUMS * THREADS + thread;
  }
};

}  // namespace gemm_tune
