// SPDX-License-Identifier: Apache-2.0
// From the candidates that have a time to the winner.
//
// With a GPU: the best few and the baselines are timed again in turn, and the winner's predicated
// twins are verified, so that it is usable at every size. The standings are stored only when all
// that is done: rows that have one need no finals again. Use from one thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tuner/job/problem_results.h"
#include "tuner/job/trials.h"
#include "tuner/job/tune.h"

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

class Finals {
 public:
  // judge_ties: whether the finishers are all that is known of the problem, so that the best of
  // them is the problem's best.
  Finals(Trials& trials, Ledger& ledger, const Problem& problem, bool judge_ties)
      : trials_(trials), ledger_(ledger), problem_(problem), judge_ties_(judge_ties) {}

  // tell: called with "finals" and "twins". Ranks the finishers; removes those whose twins are
  // wrong. Does nothing more once interrupted.
  void run(std::vector<Finisher>& finishers, const std::function<void(const char*)>& tell);

  bool complete() const { return complete_; }
  const std::vector<Baseline>& baselines() const { return baselines_; }
  // Other processes seen on the GPU.
  const std::vector<std::string>& others() const { return others_; }
  // Configs whose twin was wrong, with what was stored of them.
  const std::vector<Finisher>& disqualified() const { return disqualified_; }

 private:
  bool time(std::vector<Finisher>& finishers);
  bool time_once(std::vector<Finisher>& finishers);
  void judge(std::vector<Finisher>& finishers);
  std::optional<Outcome> twins_failure(const KnownConfig& config);

  Trials& trials_;
  Ledger& ledger_;
  const Problem problem_;
  const bool judge_ties_;
  bool complete_ = false;
  std::vector<Baseline> baselines_;
  std::vector<std::string> others_;
  std::vector<Finisher> disqualified_;
};

}  // namespace gemm_tune
