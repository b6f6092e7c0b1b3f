// SPDX-License-Identifier: Apache-2.0
// Boxes of a matrix between global and shared memory by the copy engine, as a tensor map describes
// the matrix: elements of a row, rows, matrices of a batch.
//
// One thread calls. Loads give zeros for what lies outside the matrix, stores leave it out. PTX ISA
// 9.0, section "cp.async.bulk.tensor". The emulator supplies the same functions.
#pragma once

#include "kernel_templates/wgmma/args.cuh"
#include "kernel_templates/wgmma/barriers.cuh"

namespace gemm_tune::wgmma {

// Elements from a row's begin, rows from the matrix' begin, the matrix.
struct Box {
  int x, y, batch;
};

}  // namespace gemm_tune::wgmma

#ifndef GT_EMULATOR
namespace gemm_tune::wgmma {

__device__ inline void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Loads a box; its bytes count at `barrier`. hint: an L2 policy.
__device__ inline void load_box(void* to, const TensorMap& map, Barrier* barrier, Box from,
                                unsigned long long hint) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(smem_address(to)),
      "l"(&map), "r"(smem_address(barrier)), "r"(from.x), "r"(from.y), "r"(from.batch), "l"(hint)
      : "memory");
}

// Loads a box into each CTA of the cluster whose rank's bit is set in `ctas`, to the same place;
// its bytes count at the barrier that each has at the same place.
__device__ inline void load_box_for(unsigned short ctas, void* to, const TensorMap& map,
                                    Barrier* barrier, Box from, unsigned long long hint) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(
          smem_address(to)),
      "l"(&map), "r"(smem_address(barrier)), "r"(from.x), "r"(from.y), "r"(from.batch), "h"(ctas),
      "l"(hint)
      : "memory");
}

// Stores a box, as one of the group that commit_stores() ends.
__device__ inline void store_box(const TensorMap& map, const void* from, Box to) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          &map),
      "r"(smem_address(from)), "r"(to.x), "r"(to.y), "r"(to.batch)
      : "memory");
}

__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until the thread's stores have read shared memory.
__device__ inline void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Makes this thread's stores to shared memory visible to the copy engine.
__device__ inline void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Stores four 8 x 8 matrices of 16-bit elements: thread l of the warp brings the address of row l %
// 8 of matrix l / 8, and of each matrix elements 2 (l % 4) and the next one of row l / 4; where
// TRANSPOSED, of column l / 4.
template <bool TRANSPOSED>
__device__ inline void store_matrices(void* row, const unsigned (&x)[4]) {
  if constexpr (TRANSPOSED) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     smem_address(row)),
                 "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
  } else {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem_address(row)),
        "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
        : "memory");
  }
}

// The same for the two matrices of threads 0 to 15.
template <bool TRANSPOSED>
__device__ inline void store_matrices(void* row, const unsigned (&x)[2]) {
  if constexpr (TRANSPOSED) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(smem_address(row)),
        "r"(x[0]), "r"(x[1])
        : "memory");
  } else {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(smem_address(row)),
        "r"(x[0]), "r"(x[1])
        : "memory");
  }
}

// Two sums as neighbours, rounded to nearest, ties to even.
template <int TYPE>
__device__ inline unsigned pack_pair(float low, float high) {
  unsigned pair;
  if constexpr (TYPE == kTypeBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

}  // namespace gemm_tune::wgmma
#endif
