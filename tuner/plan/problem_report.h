// SPDX-License-Identifier: Apache-2.0
// A run's results at one problem, and the messages about its progress. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "tuner/plan/funnel.h"

namespace gemm_tune {

struct TuneWinner {
  KnownConfig config;
  Outcome outcome;
  std::vector<Baseline> baselines;   // timed in turn with it, in the request's order
  std::string library_version = {};  // of an algorithm of a library
};

// Earlier timings at another problem or device that a search began with.
struct PriorSource {
  std::optional<std::string> device;  // nullopt: the target
  Problem problem;
  std::size_t count = 0;

  friend bool operator==(const PriorSource&, const PriorSource&) = default;
};

// The expected share by which this many more tries would reduce the best time.
struct ExpectedGain {
  std::size_t tries = 0;
  double gain = 0;
};

// Which candidates TuneRequest::max_error allowed to win.
struct ErrorLimit {
  double ratio = 0;                  // as asked, to cuBLAS's error
  std::size_t passed_over = 0;       // candidates above it that are faster than the winner
  std::optional<double> least = {};  // ratio of any candidate
};

// What ended a search before its budget was spent.
enum class CutShort { no, by_time_limit, by_interruption };

struct ProblemReport {
  Problem problem;
  Funnel funnel;
  std::optional<TuneWinner> winner;
  // Where the winner is an algorithm of a library: the best kernel, for who cannot call one.
  std::optional<TuneWinner> kernel;
  std::vector<TuneWinner> tied;  // the winner's tie set without the winner, fastest first
  Objective objective = Objective::hot;
  std::optional<ErrorLimit> error_limit;
  bool specialisations_verified = false;  // the winner's predicated specialisations, on the GPU
  std::size_t budget = 0;
  CutShort cut_short = CutShort::no;
  bool target_met = false;  // the search ended before the budget was spent
  bool settled = false;     // likewise, since more is not worth its cost
  std::optional<ExpectedGain>
      expected_gain;    // for the rest of the budget, or for as many tries again; if known
  std::string failure;  // why nothing could be tried, as a sentence; usually empty
  // The timings that the search knew at its start beside the static model, the most similar first.
  // nullopt if the strategy does not use a prior.
  std::optional<std::vector<PriorSource>> prior;
  // Rows of earlier runs that are no longer valid; their configs count as untried.
  std::size_t stale = 0;
  // Timed candidates for which the driver reports other CTAs per SM than our occupancy rules.
  std::uint64_t occupancy_disagreements = 0;
  // Why a baseline that was asked for is not beside the winner, a sentence each.
  std::vector<std::string> absent_baselines;
  std::vector<std::string> others;  // processes that used the GPU during the finals
  double seconds = 0;               // by RunningClock
  // The shares of that time that compile processes and measuring workers spent on tasks, those of
  // other problems included.
  double compilers_busy = 0, measurers_busy = 0;
};

// How many processes of a kind are at work.
struct Lanes {
  std::size_t busy = 0, all = 0;
};

inline constexpr const char* kSearching = "searching";
inline constexpr const char* kFinished = "finished";

// A run's progress, reported while it goes on.
struct Progress {
  const Problem* problem = nullptr;
  std::size_t number = 1, problems = 1;  // of this problem, from 1, and of all
  std::size_t done = 0, budget = 0;      // candidates of this problem
  std::size_t recalled = 0;              // done by earlier runs
  std::optional<double> best_us;
  std::optional<double> cublas_us;  // of the fastest baseline, where it was timed already
  bool is_predicted = false;        // whether best_us is predicted
  Lanes compilers, gpus;            // of all problems; gpus.all is 0 where none measures
  std::string stage;                // kSearching, "finals", "specialisations", kFinished
};
using OnProgress = std::function<void(const Progress&)>;

// Called with each finished problem.
using OnFinished = std::function<void(const ProblemReport&)>;

}  // namespace gemm_tune
