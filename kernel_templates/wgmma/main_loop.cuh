// SPDX-License-Identifier: Apache-2.0
// A consumer's main loop: multiplies stage after stage into its sums.
//
// The instructions of a stage run while those of the one before end, which then is handed back. The
// sums begin with a unit's first block: nothing sets them to zero. Those of e4m3 are added up in
// fp32, rounded to nearest, every promoted_k(): the tensor cores keep 14 bits of them. Meanwhile
// other consumers' instructions run. With shares along K of the CTA's own, those of a share are
// added to the sums of the shares before it, as CTAs of a cluster with a share each do.
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
    if constexpr (has_serial_shares(kP)) return multiply_shares(sums, unit);
    multiply_blocks(sums, unit.k_begin, unit.k_end);
  }

  __device__ void end(const Unit& unit) {
    if constexpr (promotes(kP) || has_serial_shares(kP)) return;
    end_blocks(unit.k_begin, unit.k_end);
  }

  // Passes over the stages of a unit that another consumer of the CTA multiplies.
  __device__ void skip(const Unit& unit) { at_.skip(unit.k_end - unit.k_begin); }

 private:
  static constexpr int kNobody = -1;

  __device__ void multiply_blocks(Sums& sums, int k_begin, int k_end) {
    for (int k = k_begin; k < k_end; ++k) {
      wait(buffers_.full + at_.stage, at_.parity);
      issue<0, kSteps>(sums, k - k_begin);
      wait_multiplied<1>();
      if (k > k_begin) hand_back(last_);
      last_ = at_.stage;
      at_.advance();
    }
  }

  __device__ void end_blocks(int k_begin, int k_end) {
    wait_multiplied<0>();
    if (k_begin < k_end) hand_back(last_);
  }

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

  // Of a whole tile.
  __device__ void multiply_shares(Sums& sums, const Unit& unit) {
    int begin = 0, end = end_of_share(unit, 0);
    multiply_blocks(sums, begin, end);
    end_blocks(begin, end);
#pragma unroll 1
    for (int share = 1; share < kP.K_SHARES; ++share) {
      begin = end;
      end = end_of_share(unit, share);
      Sums next;
      set_to_zero(next);  // no block adds to them, but undefined sums make ptxas spill
      multiply_blocks(next, begin, end);
      end_blocks(begin, end);
      add(sums, next);
    }
  }

  // As Schedule ends a part: of a cluster's CTAs each has a share.
  static __device__ int end_of_share(const Unit& unit, int share) {
    return static_cast<int>(1LL * unit.k_end * (share + 1) / shares(kP));
  }

  static __device__ void set_to_zero(Sums& sums) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums[i][j] = 0;
    }
  }

  // fresh: sums of instructions that have been waited for.
  static __device__ void add(Sums& sums, Sums& fresh) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      settle(fresh[i]);
#pragma unroll
      for (int j = 0; j < kP.BN / 2; ++j) sums[i][j] += fresh[i][j];
    }
  }

  __device__ void multiply_and_promote(Sums& sums, const Unit& unit) {
    Sums fresh;
    set_to_zero(sums);
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
    add(sums, fresh);
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
