// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/tune.h"

#include <spdlog/fmt/fmt.h>

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
#include "tuner/job/finished_problem.h"
#include "tuner/job/log.h"
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

// The utilisation of the workers, by all problems under way, since construction.
class Usage {
 public:
  explicit Usage(const Trials& trials)
      : trials_(trials), before_(trials.load()), retries_before_(trials.retries()) {}

  void write_to(ProblemReport& report) const {
    const Trials::Load now = trials_.load();
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto share = [seconds](const WorkersLoad& before, const WorkersLoad& after) {
      const auto workers = static_cast<double>(std::max<std::size_t>(after.all, 1));
      return (after.seconds - before.seconds) / seconds / workers;
    };
    report.seconds = seconds;
    report.compilers_busy = share(before_.compilers, now.compilers);
    report.measurers_busy = share(before_.measurers, now.measurers);
    report.funnel.retried = trials_.retries() - retries_before_;
  }

 private:
  const Trials& trials_;
  const Trials::Load before_;
  const std::size_t retries_before_;
  const Clock::time_point start_ = Clock::now();
};

// Of a problem that the time does not suffice to begin.
ProblemReport unreached(const Problem& problem) {
  ProblemReport report;
  report.problem = problem;
  report.cut_short = CutShort::by_time_limit;
  return report;
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

// The best of the finals so far beside their baselines, once they are timed.
void tell_best(const FinalsResult& finals, Objective objective, Progress& progress) {
  if (finals.baselines.empty() || finals.candidates.empty()) return;
  progress.best_us = finals.candidates.front().outcome.deciding_us(objective);
  progress.cublas_us = fastest_us(finals.baselines, objective);
}

// Ranks the timed candidates, by finals if finals are needed.
FinalsResult decide(const TuneRequest& request, Trials& trials, Search& search, Searched& searched,
                    const OnProgress& on_progress) {
  const Plan& plan = search.plan();
  std::vector<RankedCandidate> above = taken_above(searched.timed, plan.most_error);
  sort_by_time(searched.timed, request.rule.objective);
  const auto with_those_above = [&](FinalsResult result) {
    std::move(above.begin(), above.end(), std::back_inserter(result.passed_over));
    return result;
  };
  if (!request.measure || !request.holds_finals || searched.timed.empty()) {
    FinalsResult ranked;
    ranked.candidates = std::move(searched.timed);
    return with_those_above(std::move(ranked));
  }
  if (searched.tried_now == 0 && !request.finals_again) {
    if (auto earlier = earlier_finals(request, plan, searched.timed)) {
      return with_those_above(std::move(*earlier));
    }
  }
  Progress progress = searched.progress;
  return hold_finals(trials, search.results(), plan.problem, std::move(searched.timed),
                     std::move(above), request, [&](const char* stage, const FinalsResult& so_far) {
                       log_debug(fmt::format("{}: {}", to_string(plan.problem), stage));
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
        winners_below_(gemm_tune::winners_below(request)),
        kernels_(request.device.arch, request.kernels, request.kernel_cache) {
    request_.interruption = request.interruption.also(failed_);
  }

  // With an interruption that a failed lane requests, too.
  const TuneRequest& request() const { return request_; }
  CompiledKernels& kernels() { return kernels_; }
  std::span<const TimedConfig> winners_below() const { return winners_below_; }
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
    finished_.insert_or_assign(number, std::move(problem));
    for (; told_ < request_.problems.size() && finished_.contains(told_); ++told_) {
      tell_if_finished();
    }
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }

  // Once all lanes have ended.
  TuneReport report(bool interrupted) {
    for (; told_ < request_.problems.size(); ++told_) tell_if_finished();
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
  void tell_if_finished() const {
    const auto problem = finished_.find(told_);
    if (problem != finished_.end() && on_finished_) on_finished_(problem->second);
  }

  TuneRequest request_;
  Database& database_;
  const OnProgress& on_progress_;
  const OnFinished& on_finished_;
  const Environment environment_;
  const std::optional<TimeLimit> limit_;
  const std::vector<TimedConfig> winners_below_;
  CompiledKernels kernels_;
  std::recursive_mutex database_turn_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  mutable std::mutex mutex_;  // of what follows
  Mean to_first_result_, between_searches_;
  std::map<std::size_t, ProblemReport> finished_;
  std::size_t told_ = 0;  // of the request's problems
  std::exception_ptr error_;
  bool out_of_time_ = false, unfinished_ = false;
};

// Until its end its lane expects its share of the workers.
class Searching {
 public:
  explicit Searching(TaskPools& workers) : workers_(&workers) { workers.set_searching(true); }
  ~Searching() { end(); }
  Searching(const Searching&) = delete;
  Searching& operator=(const Searching&) = delete;

  void end() {
    if (workers_ != nullptr) workers_->set_searching(false);
    workers_ = nullptr;
  }

 private:
  TaskPools* workers_;
};

// Tunes one problem after another until none is left. Use from one thread.
class Lane {
 public:
  Lane(Run& run, TaskPools& workers)
      : run_(run),
        request_(run.request()),
        workers_(workers),
        trials_(request_, run.kernels(), workers) {}

  void run() {
    for (auto i = run_.take(); i && !trials_.interrupted(); i = run_.take()) {
      if (run_.is_out_of_time()) {
        run_.finish(*i, unreached(request_.problems[*i]), /*is_whole=*/false,
                    /*interrupted=*/false);
      } else {
        tune(*i);
      }
    }
  }

 private:
  Plan plan(const Problem& problem, const ProblemResults& results);
  Searched search(Search& search, std::size_t i);
  void tune(std::size_t i);

  Run& run_;
  const TuneRequest& request_;
  TaskPools& workers_;
  Trials trials_;
  SpaceMemory memory_;
  std::optional<Clock::time_point> searched_at_;
  const OnProgress on_progress_ = [this](const Progress& progress) { run_.tell(progress); };
};

// Enumerates the candidates, rejects by rule, recalls earlier results. That takes a second, in
// which the likeliest candidates are compiled, unless an earlier run has tried some.
Plan Lane::plan(const Problem& problem, const ProblemResults& results) {
  const Elsewhere elsewhere = timed_elsewhere(request_, problem, results, run_.winners_below());
  if (results.is_new()) trials_.compile_ahead(elsewhere.leaders, problem.epilogue);
  Plan plan = plan_problem(request_, problem, results, memory_, elsewhere);
  if (const auto most = most_error(request_, plan, trials_)) {
    limit_errors(plan, *most, request_.device);
  }
  return plan;
}

// Compiles, rejects by resources, verifies, times and stores each candidate.
Searched Lane::search(Search& search, std::size_t i) {
  if (searched_at_) run_.note_between_searches(Clock::now() - *searched_at_);
  Searched searched = search.run(run_.time_share(i));
  searched_at_ = Clock::now();
  if (searched.first_result) run_.note_first_result(*searched.first_result);
  return searched;
}

void Lane::tune(std::size_t i) {
  const Problem& problem = request_.problems[i];
  const ProblemResults results = run_.results(problem);
  Progress progress;
  progress.number = i + 1;
  progress.problems = request_.problems.size();
  auto proposals = propose_algorithms(request_, problem, trials_);
  Plan planned = plan(problem, results);
  Searching searching(workers_);
  Search search(std::move(planned), request_, trials_, results, std::move(proposals), progress,
                on_progress_);
  const Usage usage(trials_);
  Searched searched = this->search(search, i);
  searching.end();
  progress = searched.progress;
  // Ranks the candidates; times and verifies the best again and stores their ranks.
  const FinalsResult finals = decide(request_, trials_, search, searched, on_progress_);
  ProblemReport report = report_of(request_, search.plan(), std::move(searched), finals);
  if (report.winner && !trials_.interrupted()) {
    trials_.publish(report.kernel ? report.kernel->config : report.winner->config,
                    problem.epilogue);
  }
  trials_.abandon();  // the specialisations of finalists that did not win
  usage.write_to(report);
  const bool is_whole = report.cut_short == CutShort::no &&
                        (!request_.measure || finals.complete || !report.winner) &&
                        !request_.completes_kernel_cache;
  run_.finish(i, std::move(report), is_whole, trials_.interrupted());
  progress.stage = kFinished;
  run_.tell(progress);
}

}  // namespace

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
          guarded([&] { Lane(run, *workers).run(); });
          workers->finished();
        });
      });
    }
  }
  return run.report(request.interruption.requested());
}

}  // namespace gemm_tune
