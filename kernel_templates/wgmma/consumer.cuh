// SPDX-License-Identifier: Apache-2.0
// The consumers: warpgroups that multiply and store, each its rows of every tile, or in turns whole
// tiles (PINGPONG), so that one stores while the other multiplies.
#pragma once

#include "kernel_templates/wgmma/main_loop.cuh"
#include "kernel_templates/wgmma/partial_sums.cuh"
#include "kernel_templates/wgmma/store.cuh"

namespace gemm_tune::wgmma {

class Consumer {
 public:
  // group, thread: the warpgroup and the thread in it.
  __device__ Consumer(const TensorMap& d_map, const Args& args, const ClusterPlace& place,
                      const Buffers& buffers, int group, int thread)
      : group_(group),
        schedule_(args, place),
        loop_(buffers, place, first_row(group), thread),
        cluster_sums_(buffers, place, group, thread),
        store_(d_map, args, buffers, group, first_row(group), thread),
        place_(place),
        partials_(args.partials),
        holder_(holder(group, thread)) {}

  // All of the CTA's units.
  __device__ void run() {
    if constexpr (kP.PINGPONG != 0) {
      take_turns();
    } else {
      Unit unit;
      while (schedule_.next(unit)) {
        loop_.multiply(sums_, unit);
        loop_.end(unit);
        finish(unit);
      }
    }
  }

 private:
  // Of the 16 barriers of a CTA: 0 is __syncthreads(), 1 to 3 are each consumer's own.
  static constexpr int kTurn = 4;

  static __device__ int first_row(int group) {
    return kP.PINGPONG != 0 ? 0 : group * group_rows(kP);
  }

  // A consumer multiplies when the other has issued its last multiplications.
  __device__ void take_turns() {
    Unit unit;
    bool has_unit = schedule_.next(unit);
    bool is_first = true;
    if (group_ == 1 && has_unit) {
      is_first = false;
      loop_.skip(unit);
      has_unit = schedule_.next(unit);
    }
    while (has_unit) {
      if (!is_first) meet(kTurn + group_, 2 * kGroup);
      is_first = false;
      loop_.multiply(sums_, unit);
      Unit others;
      const bool has_others = schedule_.next(others);
      if (has_others) announce(kTurn + 1 - group_, 2 * kGroup);
      loop_.end(unit);
      finish(unit);
      if (!has_others) break;
      loop_.skip(others);
      has_unit = schedule_.next(unit);
    }
  }

  __device__ void finish(const Unit& unit) {
    if constexpr (kP.REDUCE != 0) {
      if (unit.slot != kWholeTile) {
        return PartSums::leave(&sums_[0][0], partials_, unit.slot, holder_);
      }
    }
    if constexpr (kP.SPLIT_K > 1) {
      meet_cluster();  // the others' stages are free
      bring<0>();
      finish_part<0>(unit);
    } else {
      store_.store<0>(sums_, unit);
    }
  }

  template <int TO>
  __device__ void bring() {
    cluster_sums_.bring<TO>(sums_);
    if constexpr (TO + 1 < kP.SPLIT_K) bring<TO + 1>();
  }
  template <int OF>
  __device__ void finish_part(const Unit& unit) {
    if (place_.k == OF) {
      cluster_sums_.add_up<OF>(sums_);
      store_.store<OF * ClusterSums::kColumns>(sums_, unit);
    }
    if constexpr (OF + 1 < kP.SPLIT_K) finish_part<OF + 1>(unit);
  }

  const int group_;
  Schedule schedule_;
  MainLoop loop_;
  ClusterSums cluster_sums_;
  Store store_;
  const ClusterPlace& place_;
  float* const partials_;
  const int holder_;
  Sums sums_;
};

}  // namespace gemm_tune::wgmma
