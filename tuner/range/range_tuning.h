// SPDX-License-Identifier: Apache-2.0
// Tunes one (N, K) over a range of M at once: one pool of configs is tried at a sample of M, and
// the fewest configs that are near the best everywhere are the candidates of the finals at each M.
//
// The winners are rows of the problems that were sampled, like any other. The look-up of an M
// between two of them takes the config of one of the two (choose/choose.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "db/database.h"
#include "tuner/job/tune.h"
#include "tuner/plan/tune_request.h"
#include "tuner/process/running_clock.h"

namespace gemm_tune {

// One M of a range, and what serves it.
struct RangeRow {
  Problem problem;
  std::string config;    // as text_for_any_m(); empty: nothing serves
  double us = 0;         // timed or predicted as the best was
  double of_best = 0;    // the best config's time over that
  std::size_t rank = 0;  // of the config in RangeReport::configs
};

// What the one order of sums costs beside the fastest known kernels of others.
struct OrderCost {
  double mean = 1;        // its best time over theirs, where they are faster; geometric mean
  double most = 1;        // at one M
  std::int64_t at_m = 0;  // there
};

struct RangeReport {
  std::vector<RangeRow> rows;        // ascending by M
  std::vector<std::string> configs;  // those that serve, by the first M that they serve
  std::size_t pool = 0;              // configs that were tried at each M
  double within = 0;                 // as asked
  std::string order = {};            // of sums, that all configs have; empty: any
  std::string order_of_calls = {};   // in which look-ups have calls served, where it is another one
  std::optional<OrderCost> order_cost = {};  // nothing where no other order was tried
  bool measured = false;
};

// Runs a search: tune() of tuner/agents/one_machine.h, or what takes its place in a test.
using RunSearch = std::function<TuneReport(const TuneRequest&)>;

// The result of both.
struct RangeTuned {
  RangeReport range;
  TuneReport report;  // of the last search, with the winner of each M
};

// What the next of the ranges that are left gets of a run's time, of which so much has passed: an
// equal share. A range that ends early leaves the rest to those behind it.
std::chrono::seconds time_of_range(std::chrono::seconds limit, RunningClock::duration passed,
                                   std::size_t left);

// problems: those of the request, which differ in M alone, ascending. within: how much longer than
// the best config the chosen ones may take at each M, as a share. Without a GPU the static model
// chooses among the pool, and only the chosen ones are compiled. In one order all configs have one
// order of sums: that of look-ups where finals of earlier runs have verified it at as many M (where
// finals are asked for again, at more), else the one whose best configs lose the least on the
// average.
RangeTuned tune_range(const TuneRequest& request, double within, Database& database,
                      const RunSearch& run);

// The configs that tune_range() begins with at each M: the pool, and without a GPU those of it that
// the static model chooses.
std::vector<KnownConfig> first_of_range(const TuneRequest& request, double within,
                                        Database& database);

}  // namespace gemm_tune
