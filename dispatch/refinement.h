// SPDX-License-Identifier: Apache-2.0
// Times of one call by several ways to serve it, on the caller's operands and with the caller's D
// untouched.
//
// Use one object from one thread; it belongs to the current device.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "core/problem/gemm_call.h"
#include "gpu/launch/head_start.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"

namespace gemm_tune {

class Refinement {
 public:
  // Puts the call into the stream, which may be in capture.
  using Enqueue = std::function<void(const GemmCall&, cudaStream_t)>;

  // stream: not being captured. Throws CudaError where memory does not suffice for another D.
  Refinement(const GemmCall& call, cudaStream_t stream, double limit_ms);

  // Whether half of the time has been spent. The other half is for the timing.
  bool is_half_over() const { return Clock::now() >= half_; }

  // The GPU's time of a launch by each way, in microseconds; none for a way that throws, and for
  // those that come after the time is over. Medians of up to five samples, taken of all ways in
  // turn, or a single one. A sample is a graph of launches, as the tuner's are
  // (tuner/measure/timing.h), but for this: where a launch needs counters, their memset is part of
  // it, as in a program's graph and unlike in its stream; about a microsecond. Waits for the
  // stream.
  std::vector<std::optional<double>> median_us(const std::vector<Enqueue>& ways);

 private:
  using Clock = std::chrono::steady_clock;

  bool is_over() const { return Clock::now() >= end_; }
  LaunchGraph captured(const Enqueue& enqueue, int launches) const;
  // Of the whole graph.
  double sample_us(const LaunchGraph& graph);

  Clock::time_point half_, end_;
  cudaStream_t stream_;
  DeviceBuffer<char> D_;
  GemmCall call_;  // with D_ for D, and for C where that was D
  Stream capturing_;
  HeadStart head_start_;
};

}  // namespace gemm_tune
