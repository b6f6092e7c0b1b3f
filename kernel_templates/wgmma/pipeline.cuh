// SPDX-License-Identifier: Apache-2.0
// The stages between producer and consumers: buffers of left and right, and two barriers each.
//
// `full` ends a phase when a stage's bytes are there, `empty` when all consumers that read it, also
// those of other CTAs that the stage's loads go to, are done with it. Both sides walk the stages in
// the same order.
#pragma once

#include "kernel_templates/device/copy/stage_cursor.cuh"
#include "kernel_templates/wgmma/config.cuh"

namespace gemm_tune::wgmma {

// CTAs whose consumers must be done before a stage is loaded again: those of the CTA's row and
// column of the cluster, which its loads go to.
constexpr int kReceivers = kP.CLUSTER_M + kP.CLUSTER_N - 1;
constexpr int kReaders = kP.PINGPONG != 0 ? 1 : kP.GROUPS;  // consumers of a CTA that read a stage

// Shared memory: stages, store buffers, barriers.
struct Buffers {
  char* left;
  char* right;
  char* store;
  Barrier* full;
  Barrier* empty;
  Barrier* brought;  // with SPLIT_K: the other CTAs' sums are there

  explicit __device__ Buffers(char* smem)
      : left(smem),
        right(left + kStages * left_bytes(kP)),
        store(right + kStages * right_bytes(kP)),
        full(reinterpret_cast<Barrier*>(store + all_store_bytes(kP))),
        empty(full + kStages),
        brought(empty + kStages) {}

  __device__ void init_barriers() const {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(full + i, 1);
      init_barrier(empty + i, kReaders * kReceivers);
    }
    if constexpr (kP.SPLIT_K > 1) init_barrier(brought, 1);
    publish_barriers();
    if constexpr (kP.SPLIT_K > 1) arrive_expecting(brought, exchange_bytes(kP));
  }
};

}  // namespace gemm_tune::wgmma
