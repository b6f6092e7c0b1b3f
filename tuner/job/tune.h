// SPDX-License-Identifier: Apache-2.0
// The main job: from problems and a device to winners in the database.
//
// enumerate -> reject by rule -> compile -> reject by resources -> rank -> verify -> time -> store
// -> best. Candidates are compiled and run in worker processes; this side never touches a GPU. With
// `measure` off it ranks by the static model instead of the clock, and every row says so. What
// earlier runs stored and still holds is not tried again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_spec.h"
#include "core/problem.h"
#include "db/database.h"
#include "kernel_templates/registry.h"
#include "search/space.h"
#include "tuner/job/funnel.h"
#include "tuner/measure/baseline_kind.h"
#include "tuner/work/worker_process.h"

namespace gemm_tune {

struct TuneRequest {
  std::vector<Problem> problems;
  DeviceSpec device;
  bool measure = false;             // on GPUs that are `device`
  std::vector<int> ordinals = {0};  // of those GPUs
  std::int64_t memory_bytes = 0;    // of each
  // What rows of earlier runs are graded against.
  std::string cuda_version, driver_version;
  std::vector<KnownConfig> only;  // try these alone (--config, ladder); empty: search the space
  std::string strategy;  // of search/strategy_by_name.h; empty: model, but list order where all
                         // points are to be tried
  std::optional<std::size_t> budget;  // distinct candidates per problem, those that earlier runs
                                      // tried included; nothing: default
  std::optional<double> target;  // stops where the rest of the budget would likely not make the
                                 // best faster by 1 less this share
  std::optional<std::chrono::seconds> time_limit;  // for the whole request, of RunningClock's
  std::size_t jobs = 1;                            // compile processes
  std::vector<BaselineKind> baselines = {BaselineKind::cublas};
  bool finals_again = false;  // also where earlier ones still hold
  bool retry_failed = false;  // first those that failed in earlier runs, unless by a rule
  std::uint64_t seed = 0;     // of strategy and operands, and of a sample of the space
  std::size_t most_points = Sampling().most;  // of larger spaces a sample is searched
  std::optional<std::filesystem::path> kernel_dir;
  // Where not this binary's own.
  std::optional<WorkerCommand> compile_worker, measuring_worker;
  // After these a candidate has hung. An ordinary compilation takes up to some seconds; measuring
  // gets more for large problems.
  std::chrono::milliseconds compile_limit = std::chrono::seconds(60);
  std::chrono::milliseconds measure_limit = std::chrono::seconds(20);
};

struct TuneWinner {
  KnownConfig config;
  Outcome outcome;
  std::vector<Baseline> baselines;  // timed in turn with it, in the request's order
};

// Timings made elsewhere that a search began with.
struct PriorTimings {
  std::optional<std::string> device;  // where it is not the target
  Problem problem;
  std::size_t count = 0;

  friend bool operator==(const PriorTimings&, const PriorTimings&) = default;
};

// What so many more tries would likely gain: by what share the best time would fall.
struct Outlook {
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
  bool cut_short = false;          // before the budget was spent
  bool target_met = false;         // likewise
  std::optional<Outlook> outlook;  // of the rest of the budget, or of as much again; if known
  std::string failure;             // why nothing could be tried, as a sentence; usually empty
  // What the search knew at first beside the static model, the likest first; nothing where the
  // strategy makes no use of a prior.
  std::optional<std::vector<PriorTimings>> prior;
  // Rows of earlier runs that no longer hold, so that their configs count as not tried.
  std::size_t stale = 0;
  // Timed candidates for which the driver's CTAs per SM differ from ours.
  std::uint64_t occupancy_disagreements = 0;
  std::vector<std::string> others;  // processes that shared the GPU with the finals
  double seconds = 0;               // of RunningClock's
  // Shares of that time, over all processes of a kind, spent on tasks.
  double compilers_busy = 0, measurers_busy = 0;
};

struct TuneReport {
  std::vector<ProblemReport> problems;  // those begun
  bool interrupted = false;             // by a signal
  bool out_of_time = false;
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

// Throws DeviceError where a worker's environment fails and DatabaseError where a row cannot be
// stored; what was stored before remains.
TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished = nullptr);

// What a search would begin with.
struct PlannedSearch {
  Problem problem;
  Funnel funnel;                     // enumerated, rejected_by_rule, left and searched
  std::size_t budget = 0;            // the most that it would have tried
  std::size_t recalled = 0;          // of these: by earlier runs
  std::size_t retried = 0;           // failed in earlier runs, tried again on request
  std::vector<KnownConfig> untried;  // candidates, those that are tried again before the others

  std::size_t tries() const { return budget - recalled; }
};

// Reads the database only and starts no process.
PlannedSearch plan_search(const TuneRequest& request, const Problem& problem, Database& database);

// The points of the space that pass every rule before compiling, or a sample of them, and why the
// others do not.
struct Candidates {
  std::vector<KnownConfig> points;
  Funnel funnel;  // enumerated, rejected_by_rule, left and searched
};
Candidates candidates_for(const TuneRequest& request, const Problem& problem);

}  // namespace gemm_tune
