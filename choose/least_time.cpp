// SPDX-License-Identifier: Apache-2.0
#include "choose/least_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "search/model/machine_profile.h"
#include "search/model/main_loop.h"
#include "search/model/static_model.h"
#include "search/model/warpgroup_cycles.h"

namespace gemm_tune {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

// One tile, one step along K.
Problem least_problem(const Traits& traits) {
  Problem one = packed_problem(traits.tile_m, traits.tile_n, traits.tile_k);
  one.signature = traits.signature;
  return one;
}

}  // namespace

LeastTime::LeastTime(const Traits& traits, std::string_view arch)
    : tile_m_(traits.tile_m),
      tile_n_(traits.tile_n),
      tile_k_(traits.tile_k),
      split_k_(traits.split_k),
      cluster_ctas_(traits.cluster_ctas),
      is_cut_(traits.tail_ctas_per_sm > 0 || traits.cuts_tiles),
      is_of_warpgroups_(traits.warpgroup_columns > 0) {
  const std::optional<DeviceSpec> device = find_device_spec(arch);
  const bool is_modelled = device && traits.threads > 0;  // no algorithm of a library is
  if (!is_modelled) return;
  DeviceSpec fastest = *device;
  fastest.name.clear();  // tensor cores of GeForce cards are slower
  const ModelConstants& constants = machine_profile(arch).model;
  const Problem one = least_problem(traits);
  ctas_per_sm_ = predict(traits, one, fastest).ctas_per_sm;
  if (ctas_per_sm_ == 0) return;
  launch_us_ = constants.launch_us;
  least_launch_us_ = constants.least_launch_us;
  if (traits.kept_sixteenths == 0) {
    dram_share_ = 1 / constants.dram_efficiency;
    a_bytes_ = bytes_of(traits.signature.a);
    b_bytes_ = bytes_of(traits.signature.b);
    d_bytes_ = bytes_of(traits.signature.d);
  }
  if (is_of_warpgroups_) {
    const WarpgroupCycles step = gemm_tune::warpgroup_cycles(traits, one, fastest, constants);
    const double p = constants.warpgroup_exponent;
    set_slice_cycles_ = overlapped(overlapped(step.multiply, step.smem, p), step.load, p);
    edge_cycles_ = constants.warpgroup_edge_cycles;
    return;
  }
  // Without traffic every load hits the L2, whose bandwidth costs nothing.
  const MainLoop loop(traits, fastest, 0, {}, constants.l2_port_bytes_per_cycle, constants);
  cta_slice_cycles_ =
      overlapped(std::max(loop.issue_cycles(), loop.multiply_cycles()) / constants.issue_efficiency,
                 loop.l1_cycles(), constants.pipe_exponent);
  l2_slice_cycles_ =
      tile_k_ * (tile_m_ * bytes_of(traits.signature.a) + tile_n_ * bytes_of(traits.signature.b)) /
      constants.l2_bytes_per_cycle_per_sm;
  const double exposed = loop.exposed_cycles(0);
  set_slice_cycles_ = loop.busy_cycles(1);
  if (traits.stages == 1) {
    latency_cycles_ = exposed;
  } else {
    set_slice_cycles_ = std::max(set_slice_cycles_, exposed / (traits.stages - 1));
  }
  if (is_cut_) return;
  // What a CTA of each SM does, at least, besides the main loop.
  edge_cycles_ =
      constants.cta_overhead_cycles + loop.start_cycles(1) + traits.end_wavefronts +
      traits.end_barriers * constants.sum_step_cycles +
      tile_m_ * tile_n_ * bytes_of(traits.signature.d) / constants.l2_port_bytes_per_cycle;
}

double LeastTime::us(const Problem& problem, const DeviceSpec& device) const {
  if (ctas_per_sm_ == 0) return launch_us_ == 0 ? 0 : std::numeric_limits<double>::infinity();
  const double sms = device.sm_count;
  const double cycles =
      is_of_warpgroups_ ? warpgroup_cycles(problem, sms) : cta_cycles(problem, sms);
  const double M = as_double(problem.M), N = as_double(problem.N), K = as_double(problem.K);
  const double bytes =
      (M * K * a_bytes_ + N * K * b_bytes_ + M * N * d_bytes_) * as_double(problem.batch);
  const double dram_us = bytes * dram_share_ / (device.dram_gb_per_s * 1e3);
  return std::max(launch_us_ + std::max(cycles / device.clock_mhz, dram_us), least_launch_us_);
}

// Of clusters that stay for several tiles.
double LeastTime::warpgroup_cycles(const Problem& problem, double sms) const {
  const double tiles = std::ceil(as_double(problem.M) / tile_m_) *
                       std::ceil(as_double(problem.N) / tile_n_) * as_double(problem.batch);
  const double clusters = std::ceil(tiles / (cluster_ctas_ / split_k_));
  const double workers = std::max(1.0, std::floor(sms / cluster_ctas_));
  const double steps = std::ceil(as_double(problem.K) / tile_k_);
  const double busiest = is_cut_ ? clusters / workers : std::ceil(clusters / workers);
  const double of_tile = is_cut_ ? steps / split_k_ : std::ceil(steps / split_k_);
  return busiest * of_tile * set_slice_cycles_ + edge_cycles_;
}

double LeastTime::cta_cycles(const Problem& problem, double sms) const {
  const double tiles = std::ceil(as_double(problem.M) / tile_m_) *
                       std::ceil(as_double(problem.N) / tile_n_) * as_double(problem.batch);
  const double slices = std::ceil(std::ceil(as_double(problem.K) / tile_k_) / split_k_);
  const double each = tiles * split_k_ / sms, ctas = is_cut_ ? each : std::ceil(each);
  const double sets = is_cut_ ? each / ctas_per_sm_ : std::ceil(ctas / ctas_per_sm_);
  const double sm = slices * (std::max(sets * set_slice_cycles_, ctas * cta_slice_cycles_) +
                              sets * latency_cycles_) +
                    edge_cycles_;
  return std::max(sm, each * slices * l2_slice_cycles_);
}

}  // namespace gemm_tune
