// SPDX-License-Identifier: Apache-2.0
// wgmma_parts: D = alpha * op(A) * op(B) + beta * C of fp32 matrices on Hopper's tensor cores, with
// an error as small as fp32's.
//
// A first kernel splits each element of A and B into two f16 parts or three bf16 parts (split.cuh),
// or one operand's where the call keeps the parts of the other from an earlier one. The product is
// then the sum of three or six: high by high, high by low and low by high parts (Ootomo and Yokota,
// arXiv 2203.03341), and the same with a middle part. A producer lets the copy engine load blocks
// of 64 k of all parts of both operands; GROUPS consumers multiply them, each its part of the
// tile's rows. CTAs stay for several tiles. Where parts lose numbers, the first kernel tells of
// which lines: this one computes their elements of D in fp32 (device/parts/losing_lines.cuh), or
// all of D where they are many (device/parts/fp32_product.cuh). One of A and B may be of the parts'
// type: it is one part, and read as it is stored.
#pragma once

#include "kernel_templates/device/parts/flags.cuh"
#include "kernel_templates/device/parts/fp32_product.cuh"
#include "kernel_templates/device/parts/losing_lines.cuh"
#include "kernel_templates/device/sum/cluster.cuh"
#include "kernel_templates/wgmma_parts/consumer.cuh"
#include "kernel_templates/wgmma_parts/split.cuh"

namespace gemm_tune::wgmma_parts {

constexpr int kProducerRegisters = 40;

// The compiler may not know where the answer comes from: it would arrange the kernel's branches in
// a way for which ptxas gives consumers no more registers than the launch bounds allow.
__device__ inline bool are_too_many(parts::Losing losing) {
  int answer = losing.are_too_many() ? 1 : 0;
#ifndef GT_EMULATOR
  asm volatile("" : "+r"(answer));
#endif
  return answer != 0;
}

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP), 1)
    gemm(const __grid_constant__ TensorMap left_map, const __grid_constant__ TensorMap right_map,
         const __grid_constant__ Args args) {
  char* const smem = wgmma::shared_memory();
  const Buffers buffers(smem);
  const int group = wgmma::uniform(static_cast<int>(threadIdx.x) / kGroup);
  const int thread = static_cast<int>(threadIdx.x) % kGroup;
  const bool is_producer_warp =
      wgmma::uniform(static_cast<int>(threadIdx.x) / 32) == kP.GROUPS * kGroup / 32;
  if (is_producer_warp && wgmma::is_elected()) {
    wgmma::prefetch(left_map);
    wgmma::prefetch(right_map);
    buffers.init_barriers();
  }
  wgmma::allow_next_launch();
  wgmma::await_earlier_launch();
  const parts::Losing losing = parts::read_flags<kPartsA, kPartsB>(args);
  if (are_too_many(losing)) {
    using Product =
        parts::Fp32Product<kP.GROUPS * kGroup, kP.TA == 0, kP.TB != 0, kP.TYPE_A, kP.TYPE_B>;
    static_assert((Product::kFloatsOfA + Product::kFloatsOfB) * 4 <= smem_bytes(kP));
    float* const a_smem = reinterpret_cast<float*>(smem);
    if (group < kP.GROUPS) {
      Product(args, a_smem, a_smem + Product::kFloatsOfA, static_cast<int>(threadIdx.x)).run();
    }
    return;
  }
  if constexpr (kAreLinesTold) {
    // All loops there are the same for all lanes, and are known to be: else the compiler takes the
    // warp for parted behind them, and the main loop's descriptors leave the warp's registers.
    if (!losing.are_none()) {
      parts::store_losing<kP.TA == 0, kP.TB != 0>(
          args, {wgmma::uniform(losing.lines)}, wgmma::uniform(static_cast<int>(threadIdx.x) / 32));
    }
  }
  if (group == kP.GROUPS) {
    if constexpr (moves_registers(kP)) wgmma::give_registers<kProducerRegisters>();
    if (is_producer_warp && wgmma::is_elected())
      produce(left_map, right_map, args, Buffers(wgmma::kept(smem)));
  } else {
    if constexpr (moves_registers(kP)) wgmma::take_registers<most_registers(kP)>();
    Consumer consumer(args, buffers, group, thread);
    consumer.run();
  }
}

}  // namespace gemm_tune::wgmma_parts
