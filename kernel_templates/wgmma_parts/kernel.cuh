// SPDX-License-Identifier: Apache-2.0
// wgmma_parts: D = alpha * op(A) * op(B) + beta * C of fp32 matrices on Hopper's tensor cores, with
// an error as small as fp32's.
//
// A first kernel splits each element of A and B into two f16 parts or three bf16 parts (split.cuh),
// or one operand's where the call keeps the parts of the other from an earlier one. The product is
// then the sum of three or six: high by high, high by low and low by high parts (Ootomo and Yokota,
// arXiv 2203.03341), and the same with a middle part. A producer lets the copy engine load blocks
// of 64 k of all parts of both operands; GROUPS consumers multiply them, each its part of the
// tile's rows. CTAs stay for several tiles. Where parts would lose too much, the first kernel sets
// a flag, and this one computes the product in fp32 (fp32_product.cuh).
#pragma once

#include "kernel_templates/device/sum/cluster.cuh"
#include "kernel_templates/wgmma_parts/consumer.cuh"
#include "kernel_templates/wgmma_parts/fp32_product.cuh"
#include "kernel_templates/wgmma_parts/split.cuh"

namespace gemm_tune::wgmma_parts {

constexpr int kProducerRegisters = 40;

// lines: of all matrices.
__device__ inline int flag_of_kept(const OperandCopy& copy, long long lines) {
  if (copy.kept == nullptr) return 0;
  return __ldcg(reinterpret_cast<const int*>(copy.kept + copy.factors_at) + lines);
}

// Whether the parts of an operand lose too much. The last CTA that has read the flag of this call
// lowers it for the next one.
__device__ inline bool read_flags(const Args& args) {
  int flag = __ldcg(args.flags);
  if (k_blocks_of(args) > 0) {
    flag |= flag_of_kept(args.a, 1LL * args.batch * args.M);
    flag |= flag_of_kept(args.b, 1LL * args.batch * args.N);
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(args.flags + 1, 1) == static_cast<int>(gridDim.x) - 1) {
    args.flags[0] = 0;
    args.flags[1] = 0;
  }
  return flag != 0;
}

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP), 1)
    gemm(const __grid_constant__ TensorMap left_map, const __grid_constant__ TensorMap right_map,
         const __grid_constant__ Args args) {
  char* const smem = wgmma::shared_memory();
  const Buffers buffers(smem);
  const int group = wgmma::uniform(static_cast<int>(threadIdx.x) / kGroup);
  const int thread = static_cast<int>(threadIdx.x) % kGroup;
  const bool is_producer = group == kP.GROUPS && thread == 0;
  if (is_producer) {
    buffers.init_barriers();
    wgmma::prefetch(left_map);
    wgmma::prefetch(right_map);
  }
  wgmma::allow_next_launch();
  wgmma::await_earlier_launch();
  if (read_flags(args)) {
    if (group < kP.GROUPS) Fp32Product(args, smem, static_cast<int>(threadIdx.x)).run();
    return;
  }
  if (group == kP.GROUPS) {
    if constexpr (moves_registers(kP)) wgmma::give_registers<kProducerRegisters>();
    if (is_producer) produce(left_map, right_map, args, buffers);
  } else {
    if constexpr (moves_registers(kP)) wgmma::take_registers<most_registers(kP)>();
    Consumer consumer(args, buffers, group, thread);
    consumer.run();
  }
}

}  // namespace gemm_tune::wgmma_parts
