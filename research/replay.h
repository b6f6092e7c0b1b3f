// SPDX-License-Identifier: Apache-2.0
// Runs a search strategy on a recorded sweep, as if it ran on the recorded GPU. A config that
// failed there costs one evaluation. A run learns nothing from earlier runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "research/sweep/sweep.h"

namespace gemm_tune {

struct ReplayRule {
  std::string strategy = "model";  // of kStudiedStrategies
  std::size_t budget = 200;        // evaluations a run; the sweep's size, where that is less
  std::size_t in_flight = 1;       // evaluations at once, which end in the order of their beginning
  std::uint64_t repeats = 1;       // runs, each with its own seed
  std::uint64_t seed = 1;          // of the first run
  bool stops = false;              // by search/strategy/stop_rule.h, as a search without --budget
  bool is_near_known = false;      // which that rule asks
  double prior_noise = 0;          // deviation of what each run's prior is off, as a logarithm
};

// The computing time of the strategy itself, in seconds.
struct Thinking {
  double total = 0, longest = 0;
  std::size_t count = 0;

  void add(double seconds);
  double mean_ms() const { return count == 0 ? 0 : 1000 * total / static_cast<double>(count); }
};

struct Replay {
  std::size_t budget = 0;                      // of the rule, at most the sweep's size
  std::vector<std::vector<std::size_t>> runs;  // the points in the order of their evaluation
  Thinking steps, refits;                      // a step is an ask and a tell
};

// prior_us: the time that is expected of each point, for "model"; empty: none.
Replay replay(const Sweep& sweep, const std::vector<double>& prior_us, const ReplayRule& rule);

// The optimum's time over the best one's after so many evaluations: 1 is the optimum, 0 that none
// was valid.
struct Score {
  std::size_t evaluations;
  double mean, tenth;  // over the runs; the 10th percentile
};
std::vector<Score> scores(const Sweep& sweep, const Replay& replay);

// The ends of the runs: evaluations, and by what share the best is slower than the optimum
// (infinity where none was valid).
struct Ends {
  std::size_t least, median, most;  // evaluations
  double median_regret, mean_regret, worst_regret;
};
Ends ends(const Sweep& sweep, const Replay& replay);

// What a replay gave, for a reader and for a program.
std::string text_of(const Sweep& sweep, const Replay& replay);
nlohmann::json json_of(const Sweep& sweep, const Replay& replay);

// A line of JSON for each run: the keys of its points, in the order of their evaluation.
std::string trace_of(const Sweep& sweep, const Replay& replay, const std::string& strategy);

}  // namespace gemm_tune
