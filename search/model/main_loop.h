// SPDX-License-Identifier: Apache-2.0
// The static model's account of a kernel's main loop on one SM: what its pipes do for a slice of K,
// and what latency they leave exposed.
//
// A part of search/model/static_model.cpp, which adds what lies around the main loops. Pure; any
// thread.
#pragma once

#include <vector>

#include "core/device/device_spec.h"
#include "kernel_templates/traits.h"
#include "search/model/machine_profile.h"

namespace gemm_tune {

inline constexpr double kRegisterBytes = 4;
inline constexpr double kSumBytes = 4;  // every family adds up in fp32

// (a^p + b^p)^(1/p): the time of what takes a and b and goes on at once; the same of three.
double overlapped(double a, double b, double p);
double overlapped(double a, double b, double c, double p);

// Of so many SMs, those that clusters of this many CTAs reach.
double reached_sms(double sms, int cluster_ctas, const ModelConstants& constants);

// What the grid moves, in bytes.
struct Traffic {
  double slice = 0;  // one CTA's loads for one K slice
  double l2 = 0;
  double dram = 0;
};

// Of the loads of a main loop, in cycles, as a problem's traffic makes them.
struct LoadLatency {
  double memory = 0;  // from load to use
  double slice = 0;   // until a whole slice is there; 0 where there are no slices
};

// Whether the card is sold as GeForce (ModelConstants::geforce_tensor_share).
inline constexpr const char* kGeforce = "GeForce";
bool is_geforce(const DeviceSpec& device);

// The main loop on one SM: what the config decides of it, whatever the problem.
class MainLoop {
 public:
  // spill_bytes: stores and loads per thread.
  MainLoop(const Traits& traits, const DeviceSpec& device, double spill_bytes,
           const ModelConstants& constants);

  // Pipe cycles of one CTA for one K slice.
  double multiply_cycles() const { return multiply_cycles_; }
  double issue_cycles() const { return issue_cycles_; }
  double l1_cycles() const { return l1_cycles_; }
  // Slices that are on their way before one is needed: in further stages or in registers.
  double slices_ahead() const { return slices_ahead_; }

  // l2_rate: bytes that the SM gets from the L2 in a cycle.
  LoadLatency latency(const Traffic& bytes, double l2_rate) const;

  // Cycles in which `residents` CTAs each do one K slice, without exposed latency.
  double busy_cycles(int residents, const LoadLatency& latency) const;

  // Has busy_cycles() of up to so many residents computed once, for a config that many problems are
  // asked for.
  void remember_busy_cycles(int most_residents);

  // The part of a slice's load latency that the slices on their way before it do not hide. busy: of
  // busy_cycles().
  double exposed_cycles(double busy, const LoadLatency& latency) const;

  // Until `residents` CTAs that begin together have their first slices, and for C at their end.
  double start_cycles(double residents, const LoadLatency& latency) const;

 private:
  double computed_busy_cycles(int residents, const LoadLatency& latency) const;

  const ModelConstants* constants_;
  bool reads_global_in_inner_loop_, feeds_ahead_;
  double slices_ahead_;
  double warps_;
  double steps_ = 1;         // of a slice, in which a warp loads operands and multiplies them
  double warp_cycles_ = 0;   // in which a warp issues what it has to do for one slice
  double fetch_cycles_ = 0;  // in which it waits for the code of that
  double multiply_cycles_ = 0, issue_cycles_ = 0, l1_cycles_ = 0;
  std::vector<double> busy_cycles_;  // of 1 resident and more, where no latency is among them
};

}  // namespace gemm_tune
