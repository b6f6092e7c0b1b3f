// SPDX-License-Identifier: Apache-2.0
// A consumer: multiplies stage after stage of its rows of a tile, three products of parts each, and
// stores the tile.
//
// Tensor cores cut their sums off, and the more steps a sum has, the more it loses. The sums of
// high by high parts are therefore added in fp32, rounded to nearest, every PROMOTE k. Those of
// high by low parts count 2^-11 of these and stay in the tensor cores to the end. Some of them are
// issued behind each of the former, so that the tensor cores are at work on these during the
// additions in fp32.
#pragma once

#include "kernel_templates/wgmma/instruction.cuh"
#include "kernel_templates/wgmma_f16x3/output.cuh"
#include "kernel_templates/wgmma_f16x3/pipeline.cuh"

namespace gemm_tune::wgmma_f16x3 {

// Keeps reads of sums behind the wait before it.
__device__ inline void settle([[maybe_unused]] Sums& sums) {
#ifndef GT_EMULATOR
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kP.BN / 2; ++j) asm volatile("" : "+f"(sums[i][j])::"memory");
  }
#endif
}

// Adds factor * from, which is exact but for the addition.
__device__ inline void add_up(Sums& to, const Sums& from, float factor) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kP.BN / 2; ++j) to[i][j] += factor * from[i][j];
  }
}

class Consumer {
 public:
  // group, thread: the warpgroup and the thread in it.
  __device__ Consumer(const Args& args, const Buffers& buffers, int group, int thread)
      : args_(args), buffers_(buffers), row_(group * group_rows(kP)), thread_(thread) {}

  // All of the CTA's tiles.
  __device__ void run() {
    Schedule schedule(args_);
    Tile tile;
    while (schedule.next(tile)) {
      multiply();
      store_sums(Output(args_, tile.batch), sums_, tile.row + row_, tile.col, thread_);
    }
  }

 private:
  static constexpr int kSteps = kBK / kMmaK;               // of a stage
  static constexpr int kPromotions = kBK / kP.PROMOTE;     // in a stage
  static constexpr int kHighSteps = kSteps / kPromotions;  // for each
  static constexpr int kCrossSteps = 2 * kHighSteps;

  // Leaves the tile's sums.
  __device__ void multiply() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums_[i][j] = 0;
    }
    const int k_blocks = k_blocks_of(args_);
    for (int k = 0; k < k_blocks; ++k) {
      wgmma::wait(buffers_.full + at_.stage, at_.parity);
#pragma unroll
      for (int i = 0; i < kPromotions; ++i) {
        wgmma::begin_multiply();
        for_steps<kHighSteps>([&](int step) { issue(high_, 0, 0, i * kHighSteps + step, step); });
        wgmma::commit_multiply();
        for_steps<kCrossSteps>([&](int step) {
          const int of_both = i * kCrossSteps + step, is_second = of_both / kSteps;
          issue(cross_, 1 - is_second, is_second, of_both % kSteps, k | of_both);
        });
        wgmma::commit_multiply();
        wgmma::wait_multiplied<1>();
        settle(high_);
        add_up(sums_, high_, 1);
      }
      wgmma::wait_multiplied<0>();  // none may be under way at the loop's end (C7518)
      hand_back(at_.stage);
      at_.advance();
    }
    if (k_blocks == 0) return;
    settle(cross_);
    add_up(sums_, cross_, 1 / kLowScale);
  }

  template <int COUNT, class Call>
  __device__ static void for_steps(Call call) {
#pragma unroll
    for (int step = 0; step < COUNT; ++step) call(step);
  }

  // Products of 16 k of a part of the left operand by one of the right: 0 for high, 1 for low
  // parts. adds: 0 where the sums begin.
  __device__ void issue(Sums& sums, int left_part, int right_part, int step, int adds) {
    const unsigned long long right =
        RightTile::descriptor(buffers_.right + at_.stage * right_bytes(kP), 0) +
        right_part * (part_bytes(kP.BN) / 16) + step * RightTile::kStep;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const unsigned long long left =
          LeftTile::descriptor(buffers_.left + at_.stage * left_bytes(kP), row_ + i * kMmaM) +
          left_part * (part_bytes(kP.BM) / 16) + step * LeftTile::kStep;
      wgmma::Instruction<kP.BN>::template multiply<kTypeF16, 0, 0>(sums[i], left, right, adds);
    }
  }

  __device__ void hand_back(int stage) const {
    if (thread_ == 0) wgmma::arrive(buffers_.empty + stage);
  }

  const Args& args_;
  const Buffers& buffers_;
  const int row_, thread_;
  StageCursor at_;
  Sums sums_, high_, cross_;
};

}  // namespace gemm_tune::wgmma_f16x3
