// SPDX-License-Identifier: Apache-2.0
// Times of one call by several kernels, on the caller's operands and with the caller's D untouched.
//
// Use one object from one thread; it belongs to the current device.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

#include "core/gemm_call.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace gemm_tune {

class Refinement {
 public:
  // stream: not being captured. Throws CudaError where memory does not suffice for another D.
  Refinement(const GemmCall& call, cudaStream_t stream, double limit_ms);

  // Whether the time has been spent.
  bool is_over() const { return Clock::now() >= end_; }

  // enqueue(call) puts the call into the stream. Median of three launches after one that is not
  // timed, in microseconds; waits for the stream. Throws what enqueue() throws, and CudaError.
  template <class Enqueue>
  double median_us(const Enqueue& enqueue) const {
    enqueue(call_);
    std::array<double, 3> samples{};
    for (double& sample : samples) {
      Event begin, end;
      begin.record(stream_);
      enqueue(call_);
      end.record(stream_);
      end.synchronize();
      sample = elapsed_us(begin, end);
    }
    std::sort(samples.begin(), samples.end());
    return samples[1];
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point end_;
  cudaStream_t stream_;
  DeviceBuffer<char> D_;
  GemmCall call_;  // with D_ for D, and for C where that was D
};

}  // namespace gemm_tune
