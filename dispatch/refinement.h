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

#include "core/gemm_call.h"
#include "gpu/head_start.h"
#include "gpu/memory.h"

namespace gemm_tune {

class Refinement {
 public:
  // Puts the call into the stream of the constructor.
  using Enqueue = std::function<void(const GemmCall&)>;

  // stream: not being captured. Throws CudaError where memory does not suffice for another D.
  Refinement(const GemmCall& call, cudaStream_t stream, double limit_ms);

  // Whether the time has been spent.
  bool is_over() const { return Clock::now() >= end_; }

  // The GPU's time of a launch by each way, in microseconds; none for a way that throws, and for
  // those that come after the time is over. Medians of up to five samples, taken of all ways in
  // turn, or a single one. Waits for the stream.
  std::vector<std::optional<double>> median_us(const std::vector<Enqueue>& ways);

 private:
  using Clock = std::chrono::steady_clock;

  double sample_us(const Enqueue& enqueue, int launches);

  Clock::time_point end_;
  cudaStream_t stream_;
  DeviceBuffer<char> D_;
  GemmCall call_;  // with D_ for D, and for C where that was D
  HeadStart head_start_;
};

}  // namespace gemm_tune
