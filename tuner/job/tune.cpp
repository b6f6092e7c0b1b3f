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
#include "tuner/job/search.h"
#include "tuner/job/time_limit.h"
#include "tuner/job/trials.h"
#include "tuner/plan/plan.h"
#include "tuner/plan/problem_results.h"
#include "tuner/process/running_clock.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

std::optional<TimeLimit> time_limit(const TuneRequest& request, std::size_t at_a_time) {
  if (!request.time_limit) return std::nullopt;
  std::vector<double> weights = request.weights;
  if (weights.empty()) weights.assign(request.problems.size(), 1);
  return TimeLimit(Clock::now() + *request.time_limit, std::move(weights), at_a_time);
}

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

// Of a problem that the time does not suffice to begin.
ProblemReport unreached(const Problem& problem) {
  ProblemReport report;
  report.problem = problem;
  report.cut_short = CutShort::by_time_limit;
  return report;
}

void add_best(const FinalsResult& finals, const TuneRequest& request, ProblemReport& report) {
  const Objective objective = request.rule.objective;
  for (const RankedCandidate& one : finals.disqualified) {
    --report.funnel.survived;
    count(one.config, one.outcome, report.funnel);
  }
  report.absent_baselines = finals.absent;
  report.others = finals.others;
  if (finals.candidates.empty()) return;
  report.twins_verified = finals.complete;
  const auto as_winner = [&](const RankedCandidate& one) {
    const auto library = request.libraries.find(one.config.family->name);
    return TuneWinner{one.config, one.outcome, finals.baselines,
                      library == request.libraries.end() ? "" : library->second};
  };
  const RankedCandidate& winner = finals.candidates.front();
  report.winner = as_winner(winner);
  const auto kernel =
      std::find_if(finals.candidates.begin(), finals.candidates.end(),
                   [](const RankedCandidate& one) { return !one.config.family->is_library(); });
  if (kernel != finals.candidates.begin() && kernel != finals.candidates.end()) {
    report.kernel = as_winner(*kernel);
  }
  for (std::size_t i = 1; i < finals.candidates.size(); ++i) {
    const RankedCandidate& one = finals.candidates[i];
    if (is_tied_with(winner.outcome, one.outcome, objective)) report.tied.push_back(as_winner(one));
  }
}

// The greatest error of a candidate that may win: by a stored error of cuBLAS, else by a new one.
std::optional<double> most_error(const TuneRequest& request, const Plan& plan, Trials& trials) {
  if (!request.rule.max_error || plan.points.empty() || !plan.unfit.empty()) return std::nullopt;
  std::optional<double> theirs;
  for (const auto& [config, finals] : plan.recalled_finals) {
    if (!theirs) theirs = cublas_error(finals.baselines);
  }
  if (!theirs) theirs = trials.cublas_error(plan.problem);
  if (!theirs) return std::nullopt;  // interrupted
  return *request.rule.max_error * *theirs;
}

// Moves the candidates above the limit from the list.
std::vector<RankedCandidate> taken_above(std::vector<RankedCandidate>& candidates,
                                         const std::optional<double>& limit) {
  const auto above = std::stable_partition(
      candidates.begin(), candidates.end(),
      [&](const RankedCandidate& one) { return is_within(one.outcome, limit); });
  std::vector<RankedCandidate> taken(std::make_move_iterator(above),
                                     std::make_move_iterator(candidates.end()));
  candidates.erase(above, candidates.end());
  return taken;
}

ErrorLimit error_limit(double ratio, Objective objective, const FinalsResult& finals,
                       double limit) {
  ErrorLimit found;
  found.ratio = ratio;
  const auto see = [&](const RankedCandidate& one) {
    const auto its = error_ratio(one.outcome.error, limit / ratio);
    if (its) found.least = std::min(found.least.value_or(*its), *its);
  };
  for (const RankedCandidate& one : finals.candidates) see(one);
  for (const RankedCandidate& one : finals.passed_over) {
    see(one);
    const bool is_faster =
        finals.candidates.empty() || one.outcome.deciding_us(objective) <
                                         finals.candidates.front().outcome.deciding_us(objective);
    found.passed_over += is_faster ? 1 : 0;
  }
  return found;
}

// The best of the finals so far beside their baselines, once they are timed.
void tell_best(const FinalsResult& finals, Objective objective, Progress& progress) {
  if (finals.baselines.empty() || finals.candidates.empty()) return;
  progress.best_us = finals.candidates.front().outcome.deciding_us(objective);
  progress.cublas_us = fastest_us(finals.baselines, objective);
}

// Ranks the timed candidates, by finals if finals are needed. on_finals: called when the finals
// leave the compilers idle.
FinalsResult decide(const TuneRequest& request, Trials& trials, Search& search, Searched& searched,
                    const OnProgress& on_progress, const std::function<void()>& on_finals) {
  const Plan& plan = search.plan();
  std::vector<RankedCandidate> above = taken_above(searched.timed, plan.most_error);
  sort_by_time(searched.timed, request.rule.objective);
  const auto with_those_above = [&](FinalsResult result) {
    std::move(above.begin(), above.end(), std::back_inserter(result.passed_over));
    return result;
  };
  if (!request.measure || searched.timed.empty()) {
    FinalsResult ranked;
    ranked.candidates = std::move(searched.timed);
    return with_those_above(std::move(ranked));
  }
  if (searched.tried_now == 0 && !request.finals_again) {
    if (auto earlier = earlier_finals(request, plan, searched.timed)) {
      return with_those_above(std::move(*earlier));
    }
  }
  on_finals();
  Progress progress = searched.progress;
  return hold_finals(trials, search.results(), plan.problem, std::move(searched.timed),
                     std::move(above), request.rule,
                     [&](const char* stage, const FinalsResult& so_far) {
                       progress.stage = stage;
                       tell_best(so_far, request.rule.objective, progress);
                       trials.tell_lanes(progress);
                       on_progress(progress);
                     });
}

// Of durations; zero where there are none.
class Mean {
 public:
  void add(Clock::duration one) {
    sum_ += one;
    ++count_;
  }
  Clock::duration value() const { return count_ > 0 ? sum_ / count_ : Clock::duration(); }

 private:
  Clock::duration sum_{};
  int count_ = 0;
};

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
        limit_(time_limit(request, lanes)),
        kernels_(request.device.arch, request.kernels, request.kernel_cache) {
    request_.interruption = request.interruption.also(failed_);
  }

  // With an interruption that a failed lane requests, too.
  const TuneRequest& request() const { return request_; }
  CompiledKernels& kernels() { return kernels_; }
  std::optional<TimeShare> time_share(std::size_t problem) const {
    if (!limit_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return limit_->share(problem, Clock::now(),
                         {to_first_result_.value(), between_searches_.value()});
  }
  void note_first_result(Clock::duration after) {
    const std::lock_guard lock(mutex_);
    to_first_result_.add(after);
  }
  void note_between_searches(Clock::duration time) {
    const std::lock_guard lock(mutex_);
    between_searches_.add(time);
  }
  bool is_out_of_time() const { return limit_ && limit_->is_over(Clock::now()); }

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
  const std::optional<TimeLimit> limit_;
  CompiledKernels kernels_;
  std::recursive_mutex database_turn_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  mutable std::mutex mutex_;  // of what follows
  Mean to_first_result_, between_searches_;
  std::map<std::size_t, ProblemReport> finished_;
  std::exception_ptr error_;
  bool out_of_time_ = false, unfinished_ = false;
};

// Tunes one problem after another until none is left.
void run_lane(Run& run, TaskPools& workers) {
  const TuneRequest& request = run.request();
  const OnProgress on_progress = [&run](const Progress& progress) { run.tell(progress); };
  Trials trials(request, run.kernels(), workers);
  SpaceMemory memory;
  // Enumerates the candidates, rejects by rule, recalls earlier results.
  const auto make_search = [&](std::size_t i) {
    const ProblemResults results = run.results(request.problems[i]);
    Progress progress;
    progress.number = i + 1;
    progress.problems = request.problems.size();
    Plan plan = plan_problem(request, request.problems[i], results, memory);
    if (const auto most = most_error(request, plan, trials)) {
      limit_errors(plan, *most, request.device);
    }
    return std::make_unique<Search>(std::move(plan), request, trials, results, progress,
                                    on_progress);
  };
  std::optional<std::size_t> i = run.take(), next_i;
  std::unique_ptr<Search> next;
  std::optional<Clock::time_point> searched_at;
  for (; i && !trials.interrupted(); i = next ? next_i : run.take()) {
    if (!next && run.is_out_of_time()) {
      run.finish(*i, unreached(request.problems[*i]), /*is_whole=*/false, /*interrupted=*/false);
      continue;
    }
    const std::unique_ptr<Search> search = next ? std::move(next) : make_search(*i);
    const auto prepare_next = [&] {
      if (trials.interrupted() || run.is_out_of_time() || !(next_i = run.take())) return;
      next = make_search(*next_i);
      next->compile_ahead();
    };
    const Usage usage(trials);
    if (searched_at) run.note_between_searches(Clock::now() - *searched_at);
    // Compiles, rejects by resources, verifies, times and stores each candidate.
    Searched searched = search->run(run.time_share(*i));
    searched_at = Clock::now();
    if (searched.first_result) run.note_first_result(*searched.first_result);
    // Ranks them; times and verifies the best again and stores their ranks.
    const FinalsResult finals =
        decide(request, trials, *search, searched, on_progress, prepare_next);
    ProblemReport problem = report_of(search->plan(), std::move(searched));
    problem.objective = request.rule.objective;
    add_best(finals, request, problem);
    if (search->plan().most_error) {
      problem.error_limit = error_limit(*request.rule.max_error, request.rule.objective, finals,
                                        *search->plan().most_error);
    }
    if (problem.winner && !trials.interrupted()) {
      trials.publish(problem.kernel ? problem.kernel->config : problem.winner->config,
                     problem.problem.epilogue);
    }
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
