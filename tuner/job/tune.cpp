// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/tune.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tuner/job/compiled_kernels.h"
#include "tuner/job/finals.h"
#include "tuner/job/local_workers.h"
#include "tuner/job/plan.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/search.h"
#include "tuner/job/trials.h"
#include "tuner/measure/sampling.h"
#include "tuner/work/running_clock.h"
#include "tuner/work/signals_blocked.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

// Divides the run's remaining time evenly among the remaining problems, of which so many are under
// way at a time, so that the last problem gets its share.
class TimeLimit {
 public:
  TimeLimit(const TuneRequest& request, std::size_t at_a_time)
      : request_(request), at_a_time_(at_a_time) {}

  // The deadline of the problem at this position, which begins now.
  std::optional<Clock::time_point> deadline(std::size_t problem) const {
    if (!request_.time_limit) return std::nullopt;
    const auto left = std::max<Clock::duration>(start_ + *request_.time_limit - Clock::now(),
                                                Clock::duration::zero());
    const std::size_t problems = request_.problems.size() - problem;
    return Clock::now() + left / ((problems + at_a_time_ - 1) / at_a_time_);
  }

 private:
  const TuneRequest& request_;
  const std::size_t at_a_time_;
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

// What the lanes of a run share. Any thread.
class Run {
 public:
  Run(const TuneRequest& request, Database& database, std::size_t lanes,
      const OnProgress& on_progress, const OnFinished& on_finished)
      : request_(request),
        database_(database),
        on_progress_(on_progress),
        on_finished_(on_finished),
        environment_(environment_of(request)),
        limit_(request, lanes),
        kernels_(request.device.arch, request.kernels, request.kernel_cache) {
    request_.interruption = request.interruption.also(failed_);
  }

  // With an interruption that a failed lane requests, too.
  const TuneRequest& request() const { return request_; }
  CompiledKernels& kernels() { return kernels_; }
  const TimeLimit& limit() const { return limit_; }

  // The next problem that nobody has begun.
  std::optional<std::size_t> take() {
    const std::size_t problem = next_++;
    return problem < request_.problems.size() ? std::optional(problem) : std::nullopt;
  }

  ProblemResults results(const Problem& problem) {
    return ProblemResults(database_, request_, environment_, problem, &database_turn_);
  }

  void tell(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    on_progress_(progress);
  }

  void finish(std::size_t number, ProblemReport problem, bool is_whole, bool interrupted) {
    const std::lock_guard lock(mutex_);
    out_of_time_ |= problem.cut_short == CutShort::by_time_limit;
    unfinished_ |= interrupted && !is_whole;
    const auto at = finished_.insert_or_assign(number, std::move(problem)).first;
    if (on_finished_) on_finished_(at->second);
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }

  // Once all lanes have ended.
  TuneReport report(bool interrupted) {
    if (error_) std::rethrow_exception(error_);
    TuneReport report;
    for (auto& [number, problem] : finished_) report.problems.push_back(std::move(problem));
    report.interrupted = interrupted;
    report.out_of_time = out_of_time_;
    report.unfinished =
        unfinished_ || (interrupted && report.problems.size() < request_.problems.size());
    return report;
  }

 private:
  TuneRequest request_;
  Database& database_;
  const OnProgress& on_progress_;
  const OnFinished& on_finished_;
  const Environment environment_;
  const TimeLimit limit_;
  CompiledKernels kernels_;
  std::recursive_mutex database_turn_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  std::mutex mutex_;  // of what follows
  std::map<std::size_t, ProblemReport> finished_;
  std::exception_ptr error_;
  bool out_of_time_ = false, unfinished_ = false;
};

// Tunes one problem after another until none is left.
void run_lane(Run& run, TaskPools& workers) {
  const TuneRequest& request = run.request();
  const OnProgress on_progress = [&run](const Progress& progress) { run.tell(progress); };
  Trials trials(request, run.kernels(), workers);
  // Enumerates the candidates, rejects by rule, recalls earlier results.
  const auto make_search = [&](std::size_t i) {
    const ProblemResults results = run.results(request.problems[i]);
    Progress progress;
    progress.number = i + 1;
    progress.problems = request.problems.size();
    Plan plan = plan_problem(request, request.problems[i], results);
    if (const auto most = most_error(request, plan, trials)) {
      limit_errors(plan, *most, request.device);
    }
    return std::make_unique<Search>(std::move(plan), request, trials, results, progress,
                                    on_progress);
  };
  std::optional<std::size_t> i = run.take(), next_i;
  std::unique_ptr<Search> next;
  for (; i && !trials.interrupted(); i = next ? next_i : run.take()) {
    const auto deadline = run.limit().deadline(*i);
    const std::unique_ptr<Search> search = next ? std::move(next) : make_search(*i);
    const auto prepare_next = [&] {
      if (trials.interrupted() || !(next_i = run.take())) return;
      next = make_search(*next_i);
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
    const bool is_whole = problem.cut_short == CutShort::no &&
                          (!request.measure || finals.complete || !problem.winner) &&
                          !request.completes_kernel_cache;
    run.finish(*i, std::move(problem), is_whole, trials.interrupted());
  }
}

}  // namespace

TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished) {
  Run run(request, database, 1, on_progress, on_finished);
  LocalWorkers workers(request);
  run_lane(run, workers);
  return run.report(request.interruption.requested());
}

TuneReport tune(const TuneRequest& request, Database& database, std::span<TaskPools* const> lanes,
                const OnProgress& on_progress, const OnFinished& on_finished) {
  Run run(request, database, lanes.size(), on_progress, on_finished);
  {
    const SignalsBlocked blocked;
    const auto guarded = [&run](const auto& work) {
      try {
        work();
      } catch (...) {  // the thread's edge
        run.fail(std::current_exception());
      }
    };
    std::vector<std::jthread> threads;  // joined before `guarded`, which they call, ends
    for (TaskPools* const workers : lanes) {
      guarded([&] {  // the system may start no further thread
        threads.emplace_back([&, workers] {
          guarded([&] { run_lane(run, *workers); });
          workers->finished();
        });
      });
    }
  }
  return run.report(request.interruption.requested());
}

}  // namespace gemm_tune
