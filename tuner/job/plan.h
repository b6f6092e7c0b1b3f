// SPDX-License-Identifier: Apache-2.0
// What a search of a problem begins with: its candidates, their results from earlier runs, and the
// strategy with its prior. Reads the database; starts no process.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/outcome.h"
#include "core/problem.h"
#include "db/database.h"
#include "kernel_templates/registry.h"
#include "search/search_space.h"
#include "tuner/job/funnel.h"
#include "tuner/job/problem_report.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/tune_request.h"

namespace gemm_tune {

// Points are named by their places in `points`.
struct Plan {
  Problem problem;
  std::string unfit;  // why the problem cannot be tried at all, as a sentence; usually empty
  std::vector<KnownConfig> points;   // all candidates
  std::optional<SearchSpace> space;  // of the points; empty where there are none to try
  Funnel funnel;                     // enumerated, rejected_by_rule, left and searched
  // Tried by earlier runs, in the order in which they were stored, and by config text the baselines
  // of those that were in finals.
  std::vector<std::pair<std::size_t, Outcome>> recalled;
  std::map<std::string, std::vector<Baseline>> recalled_baselines;
  std::vector<std::size_t> retries;  // failed in earlier runs, to be tried again
  std::size_t stale = 0;             // rows of earlier runs that no longer hold
  std::size_t budget = 0;            // the most candidates to try, the recalled ones included
  std::string strategy;              // of search/strategy_by_name.h
  std::vector<double> prior_us;      // expected time of each point; empty where there is no prior
  std::optional<std::vector<PriorSource>> prior_sources;  // of ProblemReport
};

Plan plan_problem(const TuneRequest& request, const Problem& problem,
                  const ProblemResults& results);

// A plan in short.
struct PlannedSearch {
  Problem problem;
  Funnel funnel;                     // enumerated, rejected_by_rule, left and searched
  std::size_t budget = 0;            // the most that it would have tried
  std::size_t recalled = 0;          // of these: by earlier runs
  std::size_t retried = 0;           // failed in earlier runs, tried again on request
  std::vector<KnownConfig> untried;  // candidates, those that are tried again before the others

  std::size_t tries() const { return budget - recalled; }
};

PlannedSearch plan_search(const TuneRequest& request, const Problem& problem, Database& database);

}  // namespace gemm_tune
