// SPDX-License-Identifier: Apache-2.0
#include "choose/least_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/model/main_loop.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

LeastTime::LeastTime(const Traits& traits, const ConfigModel& model,
                     const ModelConstants& constants)
    : tile_m_(traits.tile_m),
      tile_n_(traits.tile_n),
      tile_k_(traits.tile_k),
      split_k_(traits.split_k),
      cluster_ctas_(traits.cluster_ctas),
      ctas_per_sm_(model.ctas_per_sm()),
      is_cut_(traits.tail_ctas_per_sm > 0 || traits.cuts_tiles),
      is_of_warpgroups_(traits.warpgroup_columns > 0) {
  launch_us_ = constants.launch_us;
  if (ctas_per_sm_ == 0) return;
  least_correction_ = model.is_learned() ? kLeastCorrection : 1;
  least_launch_us_ = constants.least_launch_us;
  if (traits.kept_sixteenths == 0) {
    dram_share_ = 1 / constants.dram_efficiency;
    a_bytes_ = bytes_of(traits.signature.a);
    b_bytes_ = bytes_of(traits.signature.b);
    d_bytes_ = bytes_of(traits.signature.d);
  }
  if (is_of_warpgroups_) {
    set_slice_cycles_ = model.warpgroup_step()->total;
    set_amount(set_slice_cycles_, 0);
    edge_cycles_ = constants.warpgroup_edge_cycles;
    return;
  }
  // Without traffic every load hits the L2, whose bandwidth costs nothing.
  const MainLoop& loop = model.loop();
  const LoadLatency latency = loop.latency({}, constants.l2_port_bytes_per_cycle);
  cta_slice_cycles_ =
      overlapped(std::max(loop.issue_cycles(), loop.multiply_cycles()) / constants.issue_efficiency,
                 loop.l1_cycles(), constants.pipe_exponent);
  l2_slice_cycles_ =
      tile_k_ * (tile_m_ * bytes_of(traits.signature.a) + tile_n_ * bytes_of(traits.signature.b)) /
      constants.l2_bytes_per_cycle_per_sm;
  const double exposed = loop.exposed_cycles(0, latency);
  set_slice_cycles_ = loop.busy_cycles(1, latency);
  if (loop.slices_ahead() == 0) {
    latency_cycles_ = exposed;
  } else {
    set_slice_cycles_ = std::max(set_slice_cycles_, exposed / loop.slices_ahead());
  }
  const double of_set = set_slice_cycles_ + latency_cycles_;
  set_amount(std::max({of_set / ctas_per_sm_, cta_slice_cycles_ + latency_cycles_ / ctas_per_sm_,
                       l2_slice_cycles_}),
             of_set);
  if (is_cut_) return;
  // What a CTA of each SM does, at least, besides the main loop.
  edge_cycles_ =
      constants.cta_overhead_cycles + loop.start_cycles(1, latency) + traits.end_wavefronts +
      traits.end_barriers * constants.sum_step_cycles +
      tile_m_ * tile_n_ * bytes_of(traits.signature.d) / constants.l2_port_bytes_per_cycle;
  first_cycles_ = (1 - 1e-9) * edge_cycles_;
}

// slice_cycles: on each SM for each slice of a tile. cta_slice_cycles: of a CTA, for a slice of its
// own. A little less, for sums are rounded.
void LeastTime::set_amount(double slice_cycles, double cta_slice_cycles) {
  constexpr double kLess = 1 - 1e-9;
  work_cycles_ = kLess * slice_cycles / (tile_m_ * tile_n_ * tile_k_);
  if (!is_cut_) depth_cycles_ = kLess * cta_slice_cycles / (tile_k_ * split_k_);
}

LeastTime::Amount LeastTime::amount(const Problem& problem, const DeviceSpec& device) {
  const double per_mhz = 1.0 / device.clock_mhz, K = as_double(problem.K);
  const double products =
      as_double(problem.M) * as_double(problem.N) * K * as_double(problem.batch);
  return {products / device.sm_count * per_mhz, K * per_mhz, per_mhz};
}

void LeastTime::take_least(const LeastTime& other) {
  const auto take = [&](double LeastTime::*term) {
    this->*term = std::min(this->*term, other.*term);
  };
  for (const auto term :
       {&LeastTime::cta_slice_cycles_, &LeastTime::l2_slice_cycles_, &LeastTime::set_slice_cycles_,
        &LeastTime::latency_cycles_, &LeastTime::edge_cycles_, &LeastTime::launch_us_,
        &LeastTime::least_launch_us_, &LeastTime::dram_share_, &LeastTime::a_bytes_,
        &LeastTime::b_bytes_, &LeastTime::d_bytes_, &LeastTime::work_cycles_,
        &LeastTime::depth_cycles_, &LeastTime::first_cycles_, &LeastTime::least_correction_}) {
    take(term);
  }
  ctas_per_sm_ = std::max(ctas_per_sm_, other.ctas_per_sm_);
  is_cut_ = is_cut_ || other.is_cut_;
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
  return least_correction_ *
         std::max(launch_us_ + std::max(cycles / device.clock_mhz, dram_us), least_launch_us_);
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
