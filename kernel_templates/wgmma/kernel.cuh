// SPDX-License-Identifier: Apache-2.0
// wgmma: D = alpha * op(A) * op(B) + beta * C on Hopper's tensor cores, A and B of f16, bf16,
// e4m3, or f32 rounded to tf32, sums in fp32, C and D of f32 or of A's type, beside e4m3 of f16 or
// bf16.
//
// A CTA computes BM x BN of the product of left and right (params.cuh). A producer lets the copy
// engine load blocks of 128 bytes along K into as many stages as shared memory holds; GROUPS
// consumers multiply them: each a part of the rows, or with PINGPONG a tile each in turn. CTAs stay
// for several tiles. Clusters of CLUSTER_M x CLUSTER_N load what they have in common once. For few
// tiles SPLIT_K CTAs of a cluster share a tile along K; with REDUCE the last tiles are cut into as
// many parts as there are CTAs for, and a reduction kernel adds up their sums. Matrices need no
// whole tiles: the copy engine fills up with zeros and leaves out. Their addresses and rows must be
// aligned to 16 bytes; with REPACK a launch before copies A and B where theirs are not, with DIRECT
// threads store D of any alignment. Operands of other than 16 bits must lie along K: a launch
// before packs what does not (pack.cuh).
#pragma once

#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/sum/cluster.cuh"
#include "kernel_templates/wgmma/consumer.cuh"
#include "kernel_templates/wgmma/producer.cuh"

namespace gemm_tune::wgmma {

constexpr int kProducerRegisters = kP.GROUPS == 3 ? 32 : 40;
constexpr int kStart = 6;  // of the CTA's barriers: see Consumer

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP), 1)
    gemm(const __grid_constant__ TensorMap left_map, const __grid_constant__ TensorMap right_map,
         const __grid_constant__ TensorMap d_map, const __grid_constant__ Args args) {
  const Buffers buffers(shared_memory());
  const ClusterPlace place(kClusterCtas > 1 ? cluster_rank() : 0);
  const int group = uniform(static_cast<int>(threadIdx.x) / kGroup);
  const int thread = static_cast<int>(threadIdx.x) % kGroup;
  // The producer's thread initialises the barriers, and may use them at once.
  const bool is_producer_warp =
      uniform(static_cast<int>(threadIdx.x) / 32) == kP.GROUPS * kGroup / 32;
  if (is_producer_warp && is_elected()) {
    prefetch(left_map);
    prefetch(right_map);
    buffers.init_barriers();
    if (store_by(kP) == StoreBy::boxes) prefetch(d_map);
  }
  __syncwarp();
  if (kClusterCtas > 1) {
    meet_cluster();  // no CTA may load into another one before
  }
  if (group == kP.GROUPS) {
    if constexpr (moves_registers(kP)) give_registers<kProducerRegisters>();
    if (kClusterCtas == 1) announce(kStart, threads(kP));
    if (is_producer_warp && is_elected()) {
      allow_next_launch();
      await_earlier_launch();
      produce(left_map, right_map, args, place, Buffers(kept(shared_memory())));
    }
    if constexpr (kP.SPLIT_K > 1) {
      __syncwarp();
      meet_cluster();
    }
  } else {
    if constexpr (moves_registers(kP)) take_registers<most_registers(kP)>();
    if (kClusterCtas == 1) meet(kStart, threads(kP));
    await_earlier_launch();
    Consumer consumer(d_map, args, place, buffers, group, thread);
    consumer.run();
  }
  // Behind the branches: after the consumer's loop, where its sums are alive, it would serialise
  // the multiplications (C7512). The stores must have read the buffer before the CTA ends.
  if (store_by(kP) == StoreBy::boxes && thread == 0) wait_stores_read();
  if (kP.CLUSTER_M * kP.CLUSTER_N > 1) {
    __syncwarp();
    meet_cluster();  // a peer may still hand back this CTA's stages
  }
}

}  // namespace gemm_tune::wgmma

#ifdef TUNED_REDUCE
#include "kernel_templates/wgmma/reduce.cuh"
#endif
#ifdef TUNED_PACK
#include "kernel_templates/wgmma/pack.cuh"
#endif
