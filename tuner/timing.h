// Times launches on a GPU by CUDA events, by the rules of tuner/sampling.h.
//
// A sample is a batch of launches replayed as one graph between two events, so that neither the
// host's cost of a launch nor its jitter is in it: cublasSgemm takes longer to issue than a small
// product takes to run. Hot timings: the same operands launch after launch. The stream must be idle
// on entry. One thread.
#pragma once

#include <functional>
#include <vector>

#include "core/outcome.h"
#include "gpu/launch_graph.h"
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
  // A batch long enough to be one sample.
  struct Batch {
    LaunchGraph graph;
    int launches;
  };

  Batch capture(const Launch& launch, int launches) const;
  double sample_us(const Batch& batch);
  Batch warm_up(const Launch& launch);

  const Stream& stream_;
  Event start_, stop_;
};

}  // namespace gemm_tune
