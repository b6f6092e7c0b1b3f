// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/tune.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "tuner/job/finals.h"
#include "tuner/job/plan.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/search.h"
#include "tuner/job/trials.h"
#include "tuner/measure/sampling.h"
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

// Whether the finisher is tied with the first: by the finals' judgement of hot times, or by cold
// times that differ by no more than one config's in two runs.
bool is_tied(const Finisher& finisher, const Finisher& first, Objective objective) {
  if (objective == Objective::hot) return finisher.outcome.standing == Standing::tied;
  const auto& timing = finisher.outcome.timing;
  return finisher.outcome.standing != Standing::search && timing && timing->cold_us &&
         *timing->cold_us <= (1 + kTieMargin) * first.outcome.deciding_us(Objective::cold).value();
}

void add_best(const FinalsResult& finals, Objective objective, ProblemReport& report) {
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
    if (is_tied(finisher, finals.finishers.front(), objective)) {
      report.tied.push_back(as_winner(finisher));
    }
  }
}

// The greatest error of a candidate that may win: by a stored error of cuBLAS, else by a new one.
std::optional<double> most_error(const TuneRequest& request, const Plan& plan, Trials& trials) {
  if (!request.rule.max_error || plan.points.empty() || !plan.unfit.empty()) return std::nullopt;
  std::optional<double> theirs;
  for (const auto& [config, baselines] : plan.recalled_baselines) {
    if (!theirs) theirs = cublas_error(baselines);
  }
  if (!theirs) theirs = trials.cublas_error(plan.problem);
  if (!theirs) return std::nullopt;  // interrupted
  return *request.rule.max_error * *theirs;
}

// Moves the finishers above the limit from the list.
std::vector<Finisher> taken_above(std::vector<Finisher>& finishers,
                                  const std::optional<double>& limit) {
  const auto above = std::stable_partition(
      finishers.begin(), finishers.end(),
      [&](const Finisher& finisher) { return is_within(finisher.outcome, limit); });
  std::vector<Finisher> taken(std::make_move_iterator(above),
                              std::make_move_iterator(finishers.end()));
  finishers.erase(above, finishers.end());
  return taken;
}

ErrorLimit error_limit(double ratio, Objective objective, const FinalsResult& finals,
                       double limit) {
  ErrorLimit found;
  found.ratio = ratio;
  const auto see = [&](const Finisher& finisher) {
    const auto its = error_ratio(finisher.outcome.error, limit / ratio);
    if (its) found.least = std::min(found.least.value_or(*its), *its);
  };
  for (const Finisher& finisher : finals.finishers) see(finisher);
  for (const Finisher& finisher : finals.passed_over) {
    see(finisher);
    const bool is_faster =
        finals.finishers.empty() || finisher.outcome.deciding_us(objective) <
                                        finals.finishers.front().outcome.deciding_us(objective);
    found.passed_over += is_faster ? 1 : 0;
  }
  return found;
}

// The best of the finals so far beside their baselines, once they are timed.
void tell_best(const FinalsResult& finals, Objective objective, Progress& progress) {
  if (finals.baselines.empty() || finals.finishers.empty()) return;
  progress.best_us = finals.finishers.front().outcome.deciding_us(objective);
  progress.cublas_us = fastest_us(finals.baselines, objective);
}

// Ranks the finishers, after finals if finals are needed. on_finals: called when the finals leave
// the compilers idle.
FinalsResult decide(const TuneRequest& request, Trials& trials, Search& search, Searched& searched,
                    const OnProgress& on_progress, const std::function<void()>& on_finals) {
  const Plan& plan = search.plan();
  std::vector<Finisher> above = taken_above(searched.finishers, plan.most_error);
  rank(searched.finishers, request.rule.objective);
  const auto with_those_above = [&](FinalsResult result) {
    std::move(above.begin(), above.end(), std::back_inserter(result.passed_over));
    return result;
  };
  if (!request.measure || searched.finishers.empty()) {
    FinalsResult ranked;
    ranked.finishers = std::move(searched.finishers);
    return with_those_above(std::move(ranked));
  }
  if (searched.tried_now == 0 && !request.finals_again) {
    if (auto earlier = earlier_finals(request, plan, searched.finishers)) {
      return with_those_above(std::move(*earlier));
    }
  }
  on_finals();
  Progress progress = searched.progress;
  return hold_finals(trials, search.results(), plan.problem, std::move(searched.finishers),
                     std::move(above), request.judges_ties(), request.rule,
                     [&](const char* stage, const FinalsResult& so_far) {
                       progress.stage = stage;
                       tell_best(so_far, request.rule.objective, progress);
                       trials.tell_lanes(progress);
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
    Plan plan = plan_problem(request, request.problems[i], results);
    plan.most_error = most_error(request, plan, trials);
    return std::make_unique<Search>(std::move(plan), request, trials, results, progress,
                                    on_progress);
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
    problem.objective = request.rule.objective;
    add_best(finals, request.rule.objective, problem);
    if (search->plan().most_error) {
      problem.error_limit = error_limit(*request.rule.max_error, request.rule.objective, finals,
                                        *search->plan().most_error);
    }
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
