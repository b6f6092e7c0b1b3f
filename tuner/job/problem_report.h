// SPDX-License-Identifier: Apache-2.0
// What a run found at one problem, and what it tells of its progress. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "db/database.h"
#include "kernel_templates/registry.h"
#include "tuner/job/funnel.h"

namespace gemm_tune {

struct TuneWinner {
  KnownConfig config;
  Outcome outcome;
  std::vector<Baseline> baselines;  // timed in turn with it, in the request's order
};

// Timings made elsewhere that a search began with.
struct PriorSource {
  std::optional<std::string> device;  // where it is not the target
  Problem problem;
  std::size_t count = 0;

  friend bool operator==(const PriorSource&, const PriorSource&) = default;
};

// What so many more tries would likely gain: by what share the best time would fall.
struct ExpectedGain {
  std::size_t tries = 0;
  double gain = 0;
};

struct ProblemReport {
  Problem problem;
  Funnel funnel;
  std::optional<TuneWinner> winner;
  std::vector<TuneWinner> tied;  // the others of the winner's tie set, fastest first
  bool twins_verified = false;   // the winner's predicated twins, on the GPU
  std::size_t budget = 0;
  bool cut_short = false;   // before the budget was spent
  bool target_met = false;  // likewise
  std::optional<ExpectedGain>
      expected_gain;    // of the rest of the budget, or of as much again; if known
  std::string failure;  // why nothing could be tried, as a sentence; usually empty
  // What the search knew at first beside the static model, the likest first; nothing where the
  // strategy makes no use of a prior.
  std::optional<std::vector<PriorSource>> prior;
  // Rows of earlier runs that no longer hold, so that their configs count as not tried.
  std::size_t stale = 0;
  // Timed candidates for which the driver's CTAs per SM differ from ours.
  std::uint64_t occupancy_disagreements = 0;
  std::vector<std::string> others;  // processes that shared the GPU with the finals
  double seconds = 0;               // of RunningClock's
  // Shares of that time, over all processes of a kind, spent on tasks.
  double compilers_busy = 0, measurers_busy = 0;
};

// What a run tells while it goes on.
struct Progress {
  const Problem* problem = nullptr;
  std::size_t number = 1, problems = 1;  // of this problem, from 1, and of all
  std::size_t done = 0, budget = 0;      // candidates of this problem
  std::size_t recalled = 0;              // of those done: by earlier runs
  std::optional<double> best_us;
  bool is_predicted = false;  // the best time
  std::string stage;          // "searching", "finals", "twins"
};
using OnProgress = std::function<void(const Progress&)>;

// Told of each problem when it is finished.
using OnFinished = std::function<void(const ProblemReport&)>;

}  // namespace gemm_tune
