// SPDX-License-Identifier: Apache-2.0
// A consumer's main loop: multiplies stage after stage into its sums.
//
// The instructions of a stage run while those of the one before end, which then is handed back. The
// sums begin with a unit's first block: nothing sets them to zero. Those of e4m3 are added up in
// fp32, rounded to nearest, every promoted_k(): the tensor cores keep 14 bits of them. Meanwhile
// other consumers' instructions run.
#pragma once

#include "kernel_templates/wgmma/instruction.cuh"
#include "kernel_templates/wgmma/pipeline.cuh"
#include "kernel_templates/wgmma/schedule.cuh"

namespace gemm_tune::wgmma {

class MainLoop {
 public:
  // row: of the consumer's first row in the CTA tile. thread: in its warpgroup.
  __device__ MainLoop(const Buffers& buffers, const ClusterPlace& place, int row, int thread)
      : buffers_(buffers), row_(row), peer_(peer_of(place, thread)) {}

  // Leaves the last block's instructions under way: end() waits for them.
  __device__ void multiply(Sums& sums, const Unit& unit) {
    if constexpr (promotes(kP)) return multiply_and_promote(sums, unit);
    for (int k = unit.k_begin; k < unit.k_end; ++k) {
      wait(buffers_.full + at_.stage, at_.parity);
      issue<0, kSteps>(sums, k - unit.k_begin);
      wait_multiplied<1>();
      if (k > unit.k_begin) hand_back(last_);
      last_ = at_.stage;
      at_.advance();
    }
  }

  __device__ void end(const Unit& unit) {
    if constexpr (promotes(kP)) return;
    wait_multiplied<0>();
    if (unit.k_begin < unit.k_end) hand_back(last_);
  }

  // Passes over the stages of a unit that another consumer of the CTA multiplies.
  __device__ void skip(const Unit& unit) { at_.skip(unit.k_end - unit.k_begin); }

 private:
  static constexpr int kNobody = -1;

  // The instructions of steps FIRST to END of the stage, a group. adds: 0 where the sums begin.
  template <int FIRST, int END>
  __device__ void issue(Sums& sums, int adds) const {
    begin_multiply();
    const unsigned long long right =
        RightTile::descriptor(buffers_.right + at_.stage * right_bytes(kP), 0);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const unsigned long long left =
          LeftTile::descriptor(buffers_.left + at_.stage * left_bytes(kP), row_ + i * kMmaM);
#pragma unroll
      for (int step = FIRST; step < END; ++step) {
        Instruction<kP.BN>::template multiply<kP.AB, !kLeftAlongK, !kRightAlongK>(
            sums[i], left + step * LeftTile::kStep, right + step * RightTile::kStep,
            adds | (step - FIRST));
      }
    }
    commit_multiply();
  }

  __device__ void multiply_and_promote(Sums& sums, const Unit& unit) {
    Sums fresh;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums[i][j] = 0;
    }
    for (int k = unit.k_begin; k < unit.k_end; ++k) {
      wait(buffers_.full + at_.stage, at_.parity);
      promote<0>(sums, fresh);
      at_.advance();
    }
  }

  template <int FIRST>
  __device__ void promote(Sums& sums, Sums& fresh) const {
    constexpr int kEnd = FIRST + promoted_k(kP) / (kMmaBytes / element_bytes(kP));
    issue<FIRST, kEnd>(fresh, 0);
    wait_multiplied<0>();
    if constexpr (kEnd == kSteps) hand_back(at_.stage);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      settle(fresh[i]);
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums[i][j] += fresh[i][j];
    }
    if constexpr (kEnd < kSteps) promote<kEnd>(sums, fresh);
  }

  // Thread t hands stages back to the t-th of the CTAs whose loads come here.
  static __device__ int peer_of(const ClusterPlace& place, int thread) {
    if (thread < kP.CLUSTER_N) return place.rank_of(place.row, thread);
    int row = thread - kP.CLUSTER_N;
    if (row >= place.row) ++row;  // the CTA itself is among its row's
    return row < kP.CLUSTER_M ? place.rank_of(row, place.col) : kNobody;
  }

  __device__ void hand_back(int stage) const {
    if (peer_ == kNobody) return;
    if constexpr (kReceivers == 1) {
      arrive(buffers_.empty + stage);
    } else {
      arrive_at_peer(buffers_.empty + stage, peer_);
    }
  }

  const Buffers& buffers_;
  const int row_, peer_;
  StageCursor<kStages> at_;
  int last_ = 0;  // stage
};

}  // namespace gemm_tune::wgmma
