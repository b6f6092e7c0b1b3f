// SPDX-License-Identifier: Apache-2.0
// The start of a problem's search: its candidates, their results from earlier runs, and the
// strategy with its prior. Reads the database; starts no process.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/problem/problem.h"
#include "db/database.h"
#include "search/space/config_list.h"
#include "search/space/search_space.h"
#include "tuner/plan/funnel.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/problem_results.h"
#include "tuner/plan/tune_request.h"

namespace gemm_tune {

// Finals of an earlier run.
struct RecalledFinals {
  std::string run;  // its UUID
  std::vector<Baseline> baselines;
};

// Points are numbered by their positions in `points`.
struct Plan {
  Problem problem;
  std::string unfit;  // why the problem cannot be tried at all, as a sentence; usually empty
  ConfigList points;  // all candidates
  std::optional<SearchSpace> space;  // of the points; nullopt if there is nothing to try
  Funnel funnel;                     // enumerated, rejected_by_rule, left and searched
  // The candidates that earlier runs tried, in the order stored. The finals of those that were in
  // any, by config text.
  std::vector<std::pair<std::size_t, Outcome>> recalled;
  std::map<std::string, RecalledFinals> recalled_finals;
  // The same of libraries' algorithms, which are no points.
  std::vector<std::pair<KnownConfig, Outcome>> recalled_algorithms;
  // Failed in earlier runs, or lack the error or cold time that the request needs; tried again.
  std::vector<std::size_t> retries;
  // The points of Elsewhere's leaders, then the static model's own; tried after the retries.
  std::vector<std::size_t> leaders;
  std::optional<double> most_error;  // of a candidate that may win; nullopt: any
  std::size_t stale = 0;             // rows of earlier runs that are no longer valid
  std::size_t budget = 0;            // the most candidates to try, recalled ones included
  bool ends_itself = false;          // before, by search/strategy/stop_rule.h
  bool is_near_known = false;        // as Elsewhere has it
  std::string strategy;              // by search/strategy/strategy_by_name.h
  std::vector<double> prior_us;      // expected time of each point; empty without a prior
  std::optional<std::vector<PriorSource>> prior_sources;  // as in ProblemReport
};

// Why the problem cannot be measured on the request's GPU, as a sentence; nullopt where it can, or
// nothing is measured.
std::optional<std::string> why_too_large(const TuneRequest& request, const Problem& problem);

// What is known of a problem before its candidates are: what was timed elsewhere, and the configs
// that these timings make likeliest to be the fastest, best first.
struct Elsewhere {
  std::vector<TimedConfig> timed;  // by the user's database
  std::vector<KnownConfig> leaders;
  // Whether the leaders are as many as are looked for, and a problem near this one, or this one
  // itself, was timed on such a GPU, by the layers too.
  bool is_near_known = false;
};

// The winners of the request's layers, for timed_elsewhere().
std::vector<TimedConfig> winners_below(const TuneRequest& request);

// below: winners_below(). They lead, and no more: a few winners say nothing of other configs. Takes
// some ten milliseconds. Nothing where no surrogate chooses, or nothing can be tried.
Elsewhere timed_elsewhere(const TuneRequest& request, const Problem& problem,
                          const ProblemResults& results, std::span<const TimedConfig> below);

Plan plan_problem(const TuneRequest& request, const Problem& problem, const ProblemResults& results,
                  SpaceMemory& memory, const Elsewhere& elsewhere);

// Why a product of this size cannot run on the device, as the end of a sentence about the problem;
// empty where its matrices fit. For predictions: a measurement needs more memory.
std::string beyond_memory(const Problem& problem, const DeviceSpec& device);

// The time by which a search ranks a candidate of this time and error. Above the limit it is
// longer, or the search would learn nothing of the candidate but that it failed. Errors grow with
// the root of the number of products that are added up in turn (search/model/expected_error.h), so
// the square of the excess says how many times too many they are.
double within_error(double us, double error, double most_error);

// Limits the errors of the candidates that may win. The prior ranks the others behind them, as far
// as their errors can be expected, and those among the leaders are left out.
void limit_errors(Plan& plan, double most_error, const DeviceSpec& device);

// The summary of a plan, for --dry-run.
struct PlannedSearch {
  Problem problem;
  Funnel funnel;                     // enumerated, rejected_by_rule, left and searched
  std::size_t budget = 0;            // the most candidates to try
  std::size_t recalled = 0;          // tried by earlier runs, part of the budget
  std::size_t retried = 0;           // tried by earlier runs and tried again on request
  ConfigList points;                 // all candidates
  std::vector<std::size_t> untried;  // of these; retries come first

  std::size_t tries() const { return budget - recalled; }
};

// memory: as of candidates_for(). turn: as of ProblemResults.
PlannedSearch plan_search(const TuneRequest& request, const Problem& problem, Database& database,
                          SpaceMemory& memory, std::recursive_mutex* turn = nullptr);

}  // namespace gemm_tune
