// SPDX-License-Identifier: Apache-2.0
// Adds up what the CTAs of a cluster computed of one tile, through each other's shared memory.
//
// Does what ShareSum does, without its way through global memory. Every CTA leaves its sums in its
// own shared memory; then each adds up its part of the tile over all of them, in an order that only
// depends on the part: results are bitwise the same from run to run. With ONE_ORDER it is that of
// the shares for every part: results do not depend on where in a tile an element lies.
#pragma once

#include "kernel_templates/device/element/vec.cuh"
#include "kernel_templates/device/sum/cluster.cuh"

namespace gemm_tune {

// SUMS per thread of a CTA's first THREADS, of SHARES CTAs. VEC sums of a thread stay together.
template <int THREADS, int SUMS, int VEC, int SHARES, bool ONE_ORDER = false>
class ClusterSum {
 public:
  // Called by all threads of each CTA. buffer: THREADS * SUMS floats of shared memory, at the same
  // place in all CTAs. Calls store(thread, i, v) for sums i to i + VEC - 1 of a thread, all of
  // which some thread of the cluster gets.
  template <class Store>
  static __device__ void add(const float* sums, float* buffer, int share, Store store) {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();  // nobody reads what was in the buffer any more
    if (thread < THREADS) {
      // Element by element, as in ShareSum.
#pragma unroll
      for (int i = 0; i < SUMS; ++i) buffer[i * THREADS + thread] = sums[i];
    }
    cluster_arrive_stored();
    cluster_wait();
    Vec<VEC> total[kPasses] = {};
    if (thread < THREADS) sum_up(total, buffer, share);
    cluster_arrive();
    if (thread < THREADS) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        const int unit = unit_of(share, pass);
        if (is_own(share, pass)) store(unit % THREADS, unit / THREADS * VEC, total[pass]);
      }
    }
    cluster_wait();  // the others have read this CTA's sums
  }

 private:
  // A unit is VEC sums of a thread. They are dealt out to the CTAs in order, thread by thread.
  static_assert(SUMS % VEC == 0);
  static constexpr int kUnits = SUMS / VEC * THREADS;
  static constexpr int kPart = (kUnits + SHARES - 1) / SHARES;
  static constexpr int kPasses = (kPart + THREADS - 1) / THREADS;

  static __device__ int unit_of(int share, int pass) {
    return share * kPart + pass * THREADS + static_cast<int>(threadIdx.x);
  }

  // Whether the thread has a unit in this pass.
  static __device__ bool is_own(int share, int pass) {
    const bool in_part =
        kPart % THREADS == 0 || pass * THREADS + static_cast<int>(threadIdx.x) < kPart;
    return in_part && (kUnits % SHARES == 0 || unit_of(share, pass) < kUnits);
  }

  // Unless ONE_ORDER from one's own share on, so that the CTAs do not all read the same one at a
  // time. No load waits for another.
  static __device__ void sum_up(Vec<VEC>* total, const float* buffer, int share) {
#pragma unroll
    for (int turn = 0; turn < SHARES; ++turn) {
      const PeerSmem from(buffer, ONE_ORDER ? turn : (share + turn) % SHARES);
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (!is_own(share, pass)) continue;
        const int unit = unit_of(share, pass);
        const int first = unit / THREADS * (VEC * THREADS) + unit % THREADS;
#pragma unroll
        for (int i = 0; i < VEC; ++i) total[pass].x[i] += from.load(first + i * THREADS);
      }
    }
  }
};

}  // namespace gemm_tune
