// SPDX-License-Identifier: Apache-2.0
// A consumer: multiplies stage after stage of its rows of a tile, some products of parts each, and
// stores the tile.
//
// Tensor cores cut their sums off, and the more steps a sum has, the more it loses. The sums of
// high by high parts are therefore added in fp32, rounded to nearest, every PROMOTE k. Those of
// other parts count 2^-11 of these, or 2^-8, and stay in the tensor cores to the end. Some of them
// are issued behind each of the former, so that the tensor cores are at work on these during the
// additions in fp32, and while the consumer waits for the next stage.
#pragma once

#include "kernel_templates/wgmma/instruction.cuh"
#include "kernel_templates/wgmma_parts/pipeline.cuh"

namespace gemm_tune::wgmma_parts {

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

__device__ inline void add_up(Sums& to, const Sums& from) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kP.BN / 2; ++j) to[i][j] += from[i][j];
  }
}

// By how much sums fall short, which are cut off in 4 steps before they are promoted: the mean of
// uniform and normal data, of mean 0 and of one sign (docs/verification.md). Of fewer steps it is
// less than half of it.
constexpr float kCutOff = kP.PROMOTE == 64 ? 0x1p-23f : 0;

// The sum of all products, what was cut off made up for in the mean. Sums that look as if nothing
// was cut off stay as they are: those of whole numbers that high parts hold and that need no more
// than 20 bits.
__device__ inline float whole_sum(float high, float cross) {
  // Of an operand that is not split nobody has asked for infinities, whose products by low parts
  // of 0 are NaN. Those by high parts, which only of 0 are 0, tell what fp32's own sum is.
  if constexpr (!are_both_split(kP)) {
    if (!isfinite(high)) return high;
  }
  constexpr unsigned kLastBits = 15;
  const float sum = parts::is_scaled(kParts) ? high + cross * (1 / parts::kLowScale) : high + cross;
  const bool may_be_exact = cross == 0.0f && (__float_as_uint(high) & kLastBits) == 0;
  return may_be_exact ? sum : sum + kCutOff * sum;
}

constexpr parts::CrossProducts kCross = parts::cross_products(kPartsA, kPartsB);

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
      const parts::Output output(args_, tile.batch);
      using Store = parts::SumStore<kMmaM, kBlocks, kP.BN, (kPartsA > 1), (kPartsB > 1)>;
      Store(output, {tile.row + row_, tile.col}, thread_).store(sums_);
    }
  }

 private:
  static constexpr int kSteps = kBK / kMmaK;               // of a stage
  static constexpr int kPromotions = kBK / kP.PROMOTE;     // in a stage
  static constexpr int kHighSteps = kSteps / kPromotions;  // for each
  static constexpr int kCrossSteps = kCross.count * kHighSteps;

  // Leaves the tile's sums.
  __device__ void multiply() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums_[i][j] = 0;
    }
    Sums high = {}, cross = {};  // of this tile: no registers are theirs while it is stored
    const int k_blocks = k_blocks_of(args_);
    int previous = 0;  // stage, of which products may still be under way
    for (int k = 0; k < k_blocks; ++k) {
      wgmma::wait(buffers_.full + at_.stage, at_.parity);
      for_steps<kPromotions>([&](int i) {
        wgmma::begin_multiply();
        for_steps<kHighSteps>([&](int step) { issue(high, 0, 0, i * kHighSteps + step, step); });
        wgmma::commit_multiply();
        wgmma::wait_multiplied<1>();
        if (i == 0 && k > 0) hand_back(previous);
        for_steps<kCrossSteps>([&](int step) {
          const int of_all = i * kCrossSteps + step;
          const parts::PartPair pair = kCross.pairs[of_all / kSteps];
          issue(cross, pair.left, pair.right, of_all % kSteps, 1);
        });
        wgmma::commit_multiply();
        wgmma::wait_multiplied<1>();
        settle(high);
        add_up(sums_, high);
      });
      previous = at_.stage;
      at_.advance();
    }
    wgmma::wait_multiplied<0>();  // on every path from the loop (C7518)
    if (k_blocks == 0) return;
    hand_back(previous);
    settle(cross);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums_[i][j] = whole_sum(sums_[i][j], cross[i][j]);
    }
  }

  template <int COUNT, class Call>
  __device__ static void for_steps(Call call) {
#pragma unroll
    for (int step = 0; step < COUNT; ++step) call(step);
  }

  // Products of 16 k of a part of the left operand by one of the right. adds: 0 where the sums
  // begin.
  __device__ void issue(Sums& sums, int left_part, int right_part, int step, int adds) {
    const unsigned long long right =
        RightTile::descriptor(buffers_.right + at_.stage * right_bytes(kP), 0) +
        right_part * (part_bytes(kP.BN) / 16) + step * RightTile::kStep;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const unsigned long long left =
          LeftTile::descriptor(buffers_.left + at_.stage * left_bytes(kP), row_ + i * kMmaM) +
          left_part * (part_bytes(kP.BM) / 16) + step * LeftTile::kStep;
      wgmma::Instruction<kP.BN>::template multiply<kPartType, !kLeftAlongK, !kRightAlongK>(
          sums[i], left, right, adds);
    }
  }

  __device__ void hand_back(int stage) const {
    if (thread_ == 0) wgmma::arrive(buffers_.empty + stage);
  }

  const Args& args_;
  const Buffers& buffers_;
  const int row_, thread_;
  StageCursor<kStages> at_;
  Sums sums_;
};

}  // namespace gemm_tune::wgmma_parts
