// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/tune.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tuner/job/finals.h"
#include "tuner/job/plan.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/search.h"
#include "tuner/job/trials.h"
#include "tuner/work/running_clock.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

// Divides the run's remaining time evenly among the remaining problems, so that the last problem
// gets its share.
class TimeLimit {
 public:
  explicit TimeLimit(const TuneRequest& request) : request_(request) {}

  // The deadline of the problem at this position, which begins now.
  std::optional<Clock::time_point> deadline(std::size_t problem) const {
    if (!request_.time_limit) return std::nullopt;
    const auto left = std::max<Clock::duration>(start_ + *request_.time_limit - Clock::now(),
                                                Clock::duration::zero());
    return Clock::now() + left / (request_.problems.size() - problem);
  }

 private:
  const TuneRequest& request_;
  const Clock::time_point start_ = Clock::now();
};

// The utilisation of the workers since construction.
class Usage {
 public:
  explicit Usage(const Trials& trials)
      : trials_(trials), busy_before_(trials.busy()), retries_before_(trials.retries()) {}

  void write_to(ProblemReport& report) const {
    const Trials::Busy busy = trials_.busy();
    report.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    report.compilers_busy = (busy.compilers_s - busy_before_.compilers_s) / report.seconds /
                            static_cast<double>(trials_.compilers());
    report.measurers_busy = (busy.measurers_s - busy_before_.measurers_s) / report.seconds /
                            static_cast<double>(trials_.measurers());
    report.funnel.retried = trials_.retries() - retries_before_;
  }

 private:
  const Trials& trials_;
  const Trials::Busy busy_before_;
  const std::size_t retries_before_;
  const Clock::time_point start_ = Clock::now();
};

ProblemReport report_of(const Plan& plan, Searched searched) {
  ProblemReport report;
  report.problem = plan.problem;
  report.failure = plan.unfit;
  report.budget = plan.budget;
  report.prior = plan.prior_sources;
  report.stale = plan.stale;
  report.funnel = std::move(searched.funnel);
  report.cut_short = searched.cut_short;
  report.target_met = searched.target_met;
  report.expected_gain = searched.expected_gain;
  report.occupancy_disagreements = searched.occupancy_disagreements;
  return report;
}

void add_best(const FinalsResult& finals, ProblemReport& report) {
  for (const Finisher& loser : finals.disqualified) {
    --report.funnel.survived;
    count(loser.outcome, report.funnel);
  }
  report.absent_baselines = finals.absent;
  report.others = finals.others;
  if (finals.finishers.empty()) return;
  report.twins_verified = finals.complete;
  const auto as_winner = [&](const Finisher& finisher) {
    return TuneWinner{finisher.config, finisher.outcome, finals.baselines};
  };
  report.winner = as_winner(finals.finishers.front());
  for (std::size_t i = 1; i < finals.finishers.size(); ++i) {
    const Finisher& finisher = finals.finishers[i];
    if (finisher.outcome.standing == Standing::tied) report.tied.push_back(as_winner(finisher));
  }
}

// Ranks the finishers, after finals if finals are needed. on_finals: called when the finals leave
// the compilers idle.
FinalsResult decide(const TuneRequest& request, Trials& trials, Search& search, Searched& searched,
                    const OnProgress& on_progress, const std::function<void()>& on_finals) {
  const Plan& plan = search.plan();
  rank(searched.finishers);
  if (!request.measure || searched.finishers.empty()) {
    FinalsResult ranked;
    ranked.finishers = std::move(searched.finishers);
    return ranked;
  }
  if (searched.tried_now == 0 && !request.finals_again) {
    if (auto earlier = earlier_finals(request, plan, searched.finishers)) return *earlier;
  }
  on_finals();
  Progress progress = searched.progress;
  return hold_finals(trials, search.results(), plan.problem, std::move(searched.finishers),
                     /*judge_ties=*/!request.has_list(), [&](const char* stage) {
                       progress.stage = stage;
                       on_progress(progress);
                     });
}

}  // namespace

TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished) {
  const Environment environment = environment_of(request);
  const TimeLimit limit(request);
  Trials trials(request);
  TuneReport report;
  // Enumerates the candidates, rejects by rule, recalls earlier results.
  const auto make_search = [&](std::size_t i) {
    const ProblemResults results(database, request, environment, request.problems[i]);
    Progress progress;
    progress.number = i + 1;
    progress.problems = request.problems.size();
    return std::make_unique<Search>(plan_problem(request, request.problems[i], results), request,
                                    trials, results, progress, on_progress);
  };
  std::unique_ptr<Search> next;
  for (std::size_t i = 0; i < request.problems.size() && !trials.interrupted(); ++i) {
    const auto deadline = limit.deadline(i);
    const std::unique_ptr<Search> search = next ? std::move(next) : make_search(i);
    const auto prepare_next = [&] {
      if (trials.interrupted() || i + 1 == request.problems.size()) return;
      next = make_search(i + 1);
      next->compile_ahead();
    };
    const Usage usage(trials);
    // Compiles, rejects by resources, verifies, times and stores each candidate.
    Searched searched = search->run(deadline);
    // Ranks them; times and verifies the best again and stores their standings.
    const FinalsResult finals =
        decide(request, trials, *search, searched, on_progress, prepare_next);
    ProblemReport problem = report_of(search->plan(), std::move(searched));
    add_best(finals, problem);
    if (problem.winner && !trials.interrupted()) trials.publish(problem.winner->config);
    usage.write_to(problem);
    report.out_of_time |= problem.cut_short == CutShort::by_time_limit;
    const bool is_whole = problem.cut_short == CutShort::no &&
                          (!request.measure || finals.complete || !problem.winner) &&
                          !request.completes_kernel_cache;
    report.unfinished |= trials.interrupted() && !is_whole;
    report.problems.push_back(std::move(problem));
    if (on_finished) on_finished(report.problems.back());
  }
  report.interrupted = trials.interrupted();
  report.unfinished |= report.interrupted && report.problems.size() < request.problems.size();
  return report;
}

}  // namespace gemm_tune
