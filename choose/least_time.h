// SPDX-License-Identifier: Apache-2.0
// A time that the static model's time of a config is never below, in a few nanoseconds, where the
// model takes a hundred: what cannot be the fastest need not be modelled.
//
// The model's own terms (search/model/main_loop.h, warpgroup_cycles.h) that no problem makes
// smaller, found once for a config on an architecture: the cycles of a K slice, of what lies around
// the main loop. LeastTimeTest holds it against the model. Pure; any thread.
#pragma once

#include <algorithm>

#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "kernel_templates/traits.h"
#include "search/model/static_model.h"

namespace gemm_tune {

class LeastTime {
 public:
  // 0: of what has no model.
  LeastTime() = default;
  LeastTime(const Traits& traits, const ConfigModel& model, const ModelConstants& constants);

  // Of several configs of the same tunables: a time that is least for each.
  void take_least(const LeastTime& other);

  // What of a problem on a device us_of() takes.
  struct Amount {
    double work;   // multiplications for each SM and MHz
    double depth;  // K for each MHz
    double per_mhz;
  };
  static Amount amount(const Problem& problem, const DeviceSpec& device);

  // A time that is never above us(), from the multiplications alone and from K alone: found in a
  // nanosecond.
  double us_of(const Amount& amount) const {
    return least_correction_ *
           (launch_us_ + std::max(work_cycles_ * amount.work,
                                  depth_cycles_ * amount.depth + first_cycles_ * amount.per_mhz));
  }

  // In microseconds; infinite where the model's time is. device: modelled_device() of one of the
  // architecture.
  double us(const Problem& problem, const DeviceSpec& device) const;

 private:
  void set_amount(double slice_cycles, double cta_slice_cycles);
  double warpgroup_cycles(const Problem& problem, double sms) const;
  double cta_cycles(const Problem& problem, double sms) const;

  double tile_m_ = 1, tile_n_ = 1, tile_k_ = 1, split_k_ = 1, cluster_ctas_ = 1;
  double ctas_per_sm_ = 0;       // resident; 0: none fits
  double cta_slice_cycles_ = 0;  // of an SM's pipes, for a slice of each resident CTA
  double l2_slice_cycles_ = 0;   // of the L2, for its operands
  double set_slice_cycles_ = 0;  // of a set of residents, whatever their number
  double latency_cycles_ = 0;    // the same, which nothing hides
  double edge_cycles_ = 0;       // around the main loops
  // Of us_of(): for each multiplication of an SM; for each K of a CTA, and around its main loop.
  double work_cycles_ = 0, depth_cycles_ = 0, first_cycles_ = 0;
  double launch_us_ = 0, least_launch_us_ = 0, dram_share_ = 0;
  double least_correction_ = 1;                     // of all of it, learned
  double a_bytes_ = 0, b_bytes_ = 0, d_bytes_ = 0;  // of elements that DRAM must bring and take
  bool is_cut_ = false;                             // ragged last waves may be, along K
  bool is_of_warpgroups_ = false;
};

}  // namespace gemm_tune
