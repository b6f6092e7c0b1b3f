// SPDX-License-Identifier: Apache-2.0
// From the candidates that have a time to the winner.
//
// With a GPU: the best few and the baselines are timed again in turn, and the winner's predicated
// twins are verified, so that it is usable at every size. The standings are stored only when all
// that is done: rows that have one need no finals again. Use from one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/job/plan.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/trials.h"

namespace gemm_tune {

// A candidate with a time.
struct Finisher {
  KnownConfig config;
  Outcome outcome;
  bool in_finals = false;  // of the latest round
  bool retimed = false;    // its timing is of these finals

  double time_us() const { return outcome.time_us().value(); }
};

// Best first; equal times in the database's order, which is that of the config texts.
void rank(std::vector<Finisher>& finishers);

// How many of the ranked finishers the finals take: those within reach of the best, within limits.
std::size_t finalists_among(const std::vector<Finisher>& ranked);

// What finals leave.
struct FinalsResult {
  std::vector<Finisher> finishers;     // best first
  std::vector<Finisher> disqualified;  // configs of which a twin was wrong, as stored
  std::vector<Baseline> baselines;     // timed in turn with the finalists
  std::vector<std::string> others;     // other processes seen on the GPU
  bool complete = false;               // not interrupted: the standings are stored
};

// Times the best of the finishers again in turn with the baselines, verifies the winner's twins and
// stores the standings. judge_ties: whether the finishers are all that is known of the problem, so
// that the best of them is the problem's best. tell: called with "finals" and "twins". An interrupt
// leaves the rest undone.
FinalsResult hold_finals(Trials& trials, ProblemResults& results, const Problem& problem,
                         std::vector<Finisher> finishers, bool judge_ties,
                         const std::function<void(const char*)>& tell);

// The result of finals of an earlier run, where they decided among the very same candidates beside
// the request's baselines. ranked: best first, at least one.
std::optional<FinalsResult> earlier_finals(const TuneRequest& request, const Plan& plan,
                                           const std::vector<Finisher>& ranked);

}  // namespace gemm_tune
