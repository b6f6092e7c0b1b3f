// Times launches on a GPU by CUDA events, by the rules of tuner/sampling.h.
//
// Hot timings: the same operands launch after launch. The stream must be idle on entry. One thread.
#pragma once

#include <functional>
#include <vector>

#include "core/outcome.h"
#include "gpu/stream.h"
#include "tuner/sampling.h"

namespace gemm_tune {

// Enqueues one launch of what is timed.
using Launch = std::function<void()>;

class LaunchTimer {
 public:
  explicit LaunchTimer(const Stream& stream) : stream_(stream) {}

  // Warms up, then samples until the rule is content. Throws CudaError where a launch faults.
  Timing time(const Launch& launch, const SampleRule& rule);

  // One sample of each in turn, `rounds` times, so that a drift of the clocks falls on all alike.
  std::vector<Timing> time_interleaved(const std::vector<Launch>& launches, int rounds);

 private:
  double sample_us(const Launch& launch, int launches);
  int warm_up(const Launch& launch);  // returns launches per sample

  const Stream& stream_;
  Event start_, stop_;
};

}  // namespace gemm_tune
