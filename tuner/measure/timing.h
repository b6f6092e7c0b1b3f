// SPDX-License-Identifier: Apache-2.0
// Times launches on a GPU by CUDA events, by the rules of tuner/measure/sampling.h.
//
// A sample is a batch of launches replayed as one graph between two events, submitted while the GPU
// is still busy with a head start: neither the host's cost of a launch nor its jitter is in it.
// Samples that the GPU throttled or that look disturbed are taken again, within bounds; a timing
// always has samples. The stream must be idle on entry. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"
#include "gpu/launch/head_start.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "tuner/measure/sampling.h"

namespace gemm_tune {

// Rounds of cold samples, and those of finals that cold times decide.
inline constexpr std::size_t kColdRounds = 7, kDecidingColdRounds = 15;

// Enqueues one launch of what is timed, on the operands' copy of this number; hot timings use 0.
using Launch = std::function<void(int copy)>;

class LaunchTimer {
 public:
  // Both must outlive it.
  LaunchTimer(const Stream& stream, const Nvml& nvml);

  // Warms up, then samples until the rule is content. Throws CudaError where a launch faults.
  Timing time(const Launch& launch, const SampleRule& rule);

  // One sample of each in turn until the rule is content, so that a drift of the clocks falls on
  // all alike; every other round in reverse. launches: the baseline's first. Sample i of one
  // belongs to sample i of every other: a disturbed round is taken again as a whole.
  std::vector<Timing> time_interleaved(const std::vector<Launch>& launches, const FinalsRule& rule);

  // The median launch time of each over so many such rounds, or fewer where they take long;
  // successive launches use successive ones of the `copies` copies.
  std::vector<double> time_cold(const std::vector<Launch>& launches, int copies,
                                std::size_t rounds = kColdRounds);

 private:
  // A batch long enough to be one sample.
  struct Batch {
    LaunchGraph graph;
    int launches;
  };
  struct Sample {
    double us;             // mean of one launch
    std::string slowdown;  // Nvml::slowdown() during it
    std::optional<GpuConditions> conditions;
  };

  Batch capture(const Launch& launch, int launches, int copies = 1) const;
  Sample sample(const Batch& batch, bool with_conditions = false);
  Batch warm_up(const Launch& launch, SampleRule rule);

  const Stream& stream_;
  const Nvml& nvml_;
  Event start_, stop_;
  HeadStart head_start_;
  bool is_warm_ = false;  // whether this process has put the GPU to work before
};

}  // namespace gemm_tune
