// SPDX-License-Identifier: Apache-2.0
// The search of one problem: the strategy chooses candidates, workers try them, and their outcomes
// are stored. Use from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/job/finals.h"
#include "tuner/job/strategy_thread.h"
#include "tuner/job/time_limit.h"
#include "tuner/job/trials.h"
#include "tuner/plan/plan.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/problem_results.h"

namespace gemm_tune {

// The result of a search.
struct Searched {
  Funnel funnel;
  std::vector<RankedCandidate> timed;  // candidates with a time, including earlier runs'
  std::size_t tried_now = 0;           // candidates, without earlier runs'
  CutShort cut_short = CutShort::no;
  bool target_met = false;  // the search ended before the budget was spent
  bool settled = false;     // likewise, since more is not worth its cost
  // Of the rest of the budget, or of as much again; computed while the finals go on, by the Search,
  // which must live as long. Not valid where nothing was to try.
  std::future<std::optional<ExpectedGain>> expected_gain;
  std::uint64_t occupancy_disagreements = 0;  // as in ProblemReport
  Progress progress;                          // at its end
  // From the search's begin to the first result of its own; nothing where there was none.
  std::optional<RunningClock::duration> first_result;
};

// Adds the outcome of a kernel or of a library's algorithm to the funnel's counts.
void count(const KnownConfig& config, const Outcome& outcome, Funnel& funnel);

// The libraries' algorithms for a problem, once a later Trials::wait() has brought them.
struct Proposals {
  std::optional<std::vector<KnownConfig>> configs;
};
// Asks for them, which starts the GPU's worker where there is none yet; nullptr where the request
// tries none.
std::shared_ptr<const Proposals> propose_algorithms(const TuneRequest& request,
                                                    const Problem& problem, Trials& trials);

class Search {
 public:
  // progress: the problem's number in the run; the counts are filled in here.
  // proposals: as propose_algorithms() gave them.
  Search(Plan plan, const TuneRequest& request, Trials& trials, const ProblemResults& results,
         std::shared_ptr<const Proposals> proposals, const Progress& progress,
         const OnProgress& on_progress);

  const Plan& plan() const { return plan_; }
  ProblemResults& results() { return results_; }

  // Runs until the budget, the space or the time is used up, the target is met, further tries are
  // not worth their cost, or the run is interrupted. Call it once.
  Searched run(std::optional<TimeShare> time);

 private:
  // What kernels must beat, whatever libraries have.
  struct BestKernel {
    KnownConfig config;
    double us;
  };

  void take_up(const std::vector<std::size_t>& points);
  void compile_likely_specialisations();
  void ask_and_begin();
  void begin(std::size_t point);
  void finish(std::size_t point, Outcome outcome);
  void take(const KnownConfig& config, std::optional<std::size_t> point, Outcome outcome);
  void take_proposals();
  void begin_algorithms();
  void begin_algorithm(const KnownConfig& config);
  void store_and_log(const KnownConfig& config, const Outcome& outcome);
  bool target_met();
  bool is_settled();
  void abandon_what_promises_little();
  bool has_all_that_it_asked() const {
    return (is_exhausted_ || result_.settled) && next_.empty() && next_algorithms_.empty() &&
           !proposals_;
  }
  bool awaits_algorithms() const {
    return proposals_ || !next_algorithms_.empty() || algorithms_under_way_ > 0;
  }
  std::optional<ExpectedGain> expected_gain();
  void tell_progress();

  Plan plan_;  // its prior and recalled outcomes are handed on at the start
  const TuneRequest& request_;
  Trials& trials_;
  ProblemResults results_;
  const OnProgress& on_progress_;
  std::optional<StrategyThread> strategy_;  // nullopt if there is nothing to try
  std::deque<std::size_t> next_;            // points chosen but not begun
  // Of libraries, proposed but not begun; the strategy does not know of them.
  std::deque<KnownConfig> next_algorithms_;
  // Queued without the strategy's knowledge, so that its points may contain them again.
  std::set<std::size_t> unasked_;
  std::optional<BestKernel> best_kernel_;
  std::string with_specialisations_;  // the kernel for which they are compiled, or were
  bool is_best_settled_ = false;      // as is_settled() found it
  bool is_ending_ = false;            // nothing more is begun
  std::size_t judged_at_ = 0;         // number of results when what is under way was judged
  bool is_exhausted_ = false;         // the space or the budget is used up
  std::size_t next_judgement_ = 0;    // number of results at which the target is judged again
  std::size_t asked_ = 0, under_way_ = 0;
  std::size_t algorithms_ = 0;  // begun, or recalled
  std::size_t algorithms_under_way_ = 0;
  std::shared_ptr<const Proposals> proposals_;  // nullptr once taken
  Searched result_;
};

}  // namespace gemm_tune
