// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/tune.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/error.h"
#include "search/point_index.h"
#include "search/search_space.h"
#include "search/space.h"
#include "search/static_model.h"
#include "search/strategy_by_name.h"
#include "search/transfer.h"
#include "tuner/job/budget.h"
#include "tuner/job/filter.h"
#include "tuner/job/finals.h"
#include "tuner/job/log.h"
#include "tuner/job/prior_timings.h"
#include "tuner/job/problem_results.h"
#include "tuner/job/strategy_thread.h"
#include "tuner/job/trials.h"
#include "tuner/work/interrupt.h"
#include "tuner/work/running_clock.h"

namespace gemm_tune {
namespace {

using Clock = RunningClock;

std::vector<double> prior_times(const std::vector<KnownConfig>& points, const Problem& problem,
                                const DeviceSpec& device) {
  std::vector<double> times;
  times.reserve(points.size());
  for (const KnownConfig& point : points) {
    times.push_back(predict(point.traits, problem, device).time_us);
  }
  return times;
}

// Why a config is no candidate for the problem, if so.
std::optional<std::string_view> reject(const TuneRequest& request, const Problem& problem,
                                       const KnownConfig& config) {
  const auto reason = reject_before_compile(config, problem, request.device);
  // A config that was asked for by name is tried even where its checks are needless.
  return reason || !request.only.empty() ? reason
                                         : reject_needless(config, problem, request.device);
}

// A rule rejects the same config again.
bool has_failed(const Outcome& outcome) {
  return outcome.disposition != Disposition::ok && outcome.disposition != Disposition::rejected;
}

// Why the problem cannot be measured on a GPU of that memory, or nothing.
std::optional<std::string> too_large(const Problem& problem, std::int64_t memory_bytes) {
  // A, B and C, twice for two sets of operands, and two fp64 matrices of C's size to check against.
  const double m = static_cast<double>(problem.M), n = static_cast<double>(problem.N),
               k = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  const auto bytes = [](ElementType type, double elements) { return bytes_of(type) * elements; };
  const Signature& types = problem.signature;
  const double operands = bytes(types.a, m * k) + bytes(types.b, k * n);
  const double reference = 2 * bytes(ElementType::f64, m * n);
  const double needed = batch * (2 * (operands + reference) + bytes(types.d, m * n));
  if (needed <= static_cast<double>(memory_bytes)) return std::nullopt;
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return fmt::format(
      "{} needs {:.0f} GiB of GPU memory with the reference to check against, and the GPU has "
      "{:.0f}: "
      "choose a smaller size",
      to_string(problem), needed / kGiB, static_cast<double>(memory_bytes) / kGiB);
}

// One problem's search, from its candidates to its winner.
class ProblemSearch {
 public:
  ProblemSearch(const TuneRequest& request, const Environment& environment, Trials& trials,
                Database& database, const OnProgress& on_progress, const Problem& problem,
                std::size_t number)
      : request_(request),
        trials_(trials),
        ledger_(database, request, environment, problem),
        on_progress_(on_progress),
        problem_(problem),
        number_(number) {
    report_.problem = problem;
    plan();
  }

  // Has the first candidates compiled: for while the search before this one needs no compilers.
  void compile_ahead() {
    std::vector<KnownConfig> first;
    for (const std::size_t point : next_) first.push_back(points_[point]);
    trials_.compile_ahead(first);
  }

  // Instead of run(), by which it is used up.
  PlannedSearch planned() {
    PlannedSearch planned{problem_,         std::move(report_.funnel), budget_,
                          recalled_.size(), retries_.size(),           {}};
    std::vector<bool> is_taken(points_.size(), false);
    for (const auto& [point, outcome] : recalled_) is_taken[point] = true;
    for (const std::size_t point : retries_) {
      is_taken[point] = true;
      planned.untried.push_back(std::move(points_[point]));
    }
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (!is_taken[i]) planned.untried.push_back(std::move(points_[i]));
    }
    return planned;
  }

  // on_finals: called when the compilers have nothing more to do.
  ProblemReport run(std::optional<Clock::time_point> deadline,
                    const std::function<void()>& on_finals) {
    const Clock::time_point start = Clock::now();
    const Trials::Busy before = trials_.busy();
    const std::size_t retries_before = trials_.retries();
    deadline_ = deadline;
    if (thinker_) {
      search();
      choose_winner(on_finals);
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    report_.funnel.retried = trials_.retries() - retries_before;
    const Trials::Busy after = trials_.busy();
    report_.compilers_busy = (after.compilers_s - before.compilers_s) / report_.seconds /
                             static_cast<double>(trials_.compilers());
    report_.measurers_busy = (after.measurers_s - before.measurers_s) / report_.seconds /
                             static_cast<double>(trials_.measurers());
    return std::move(report_);
  }

 private:
  bool explicit_list() const { return !request_.only.empty(); }
  bool must_stop() const { return interrupted() || (deadline_ && Clock::now() >= *deadline_); }

  // What earlier runs found and still holds. It belongs to the search even where this run's sample
  // of the space lacks it.
  void recall() {
    std::vector<std::pair<KnownConfig, Record>> rows;
    for (Record& record : ledger_.valid_rows(report_.stale)) {
      rows.emplace_back(check_config(parse_config(record.config)), std::move(record));
    }
    if (rows.empty()) return;
    if (report_.funnel.searched < report_.funnel.left) add_to_sample(rows);
    const PointIndex index(points_);
    std::set<std::size_t> seen;
    for (auto& [config, record] : rows) {
      const std::optional<std::size_t> point = index.find(*config.family, config.values);
      if (!point || !seen.insert(*point).second) continue;
      if (request_.retry_failed && has_failed(record.outcome)) {
        retries_.insert(*point);
        continue;
      }
      if (record.outcome.standing != Standing::search) {
        recalled_baselines_.emplace(record.config, ledger_.baselines(record));
      }
      recalled_.emplace_back(*point, std::move(record.outcome));
    }
  }

  void add_to_sample(const std::vector<std::pair<KnownConfig, Record>>& rows) {
    const PointIndex index(points_);
    std::vector<KnownConfig> missing;
    for (const auto& [config, record] : rows) {
      if (!index.find(*config.family, config.values) && !reject(request_, problem_, config)) {
        missing.push_back(config);
      }
    }
    points_.insert(points_.end(), missing.begin(), missing.end());
    report_.funnel.searched = points_.size();
  }

  // From the problem to the candidates that will be asked for first.
  void plan() {
    Candidates candidates = candidates_for(request_, problem_);
    points_ = std::move(candidates.points);
    report_.funnel = std::move(candidates.funnel);
    const auto unfit = request_.measure ? too_large(problem_, request_.memory_bytes) : std::nullopt;
    report_.failure = unfit.value_or("");
    if (unfit || points_.empty()) return;
    recall();
    space_ = search_space(points_);
    const std::string strategy = strategy_name();
    std::vector<double> prior_us;
    if (strategy == "model") prior_us = make_prior();
    const std::size_t known = recalled_.size() + retries_.size();
    budget_ = std::min(points_.size(), std::max(asked_budget(), known));
    report_.budget = budget_;
    thinker_.emplace(make_strategy(strategy, *space_, std::move(prior_us),
                                   budget_ - recalled_.size(), request_.seed));
    for (auto& [point, outcome] : recalled_) take(point, std::move(outcome));
    done_ = asked_ = recalled_.size();
    next_.assign(retries_.begin(), retries_.end());
    if (known < budget_) take_up(thinker_->ask(std::min(budget_ - known, trials_.compilers())));
  }

  // The strategy does not know that some points are tried unasked.
  void take_up(const std::vector<std::size_t>& points) {
    std::copy_if(points.begin(), points.end(), std::back_inserter(next_),
                 [this](std::size_t point) { return !retries_.contains(point); });
  }

  std::string strategy_name() const {
    if (!request_.strategy.empty()) return request_.strategy;
    const bool all = request_.budget >= points_.size() && !request_.target;
    return all || explicit_list() ? "exhaustive" : "model";
  }

  std::size_t asked_budget() const {
    if (request_.budget) return *request_.budget;
    return explicit_list() ? points_.size()
                           : default_budget(points_.size(), request_.measure, is_guided_);
  }

  // The static model's times, corrected by what was timed elsewhere.
  std::vector<double> make_prior() {
    std::vector<double> prior_us = prior_times(points_, problem_, request_.device);
    report_.prior.emplace();
    if (!request_.measure) return prior_us;  // what is told are the model's own times
    const std::vector<Precedent> known =
        precedents(ledger_.timed_elsewhere(), request_.device, problem_, points_);
    is_guided_ = guide_well(known);
    std::vector<Evidence> evidence;
    for (const Precedent& one : known) {
      const bool is_own = one.device == device_key(request_.device);
      report_.prior->push_back({is_own ? std::nullopt : std::optional(one.device.name), one.problem,
                                one.evidence.log_ratios.size()});
      evidence.push_back(one.evidence);
    }
    return transferred_prior(*space_, std::move(prior_us), evidence);
  }

  void search() {
    bool exhausted = next_.empty();  // space or budget
    tell_progress("searching");
    while (!must_stop()) {
      if (const auto points = thinker_->answer(); points && !exhausted) {
        take_up(*points);
        exhausted = points->empty();
      }
      if (!exhausted && target_met()) {
        exhausted = report_.target_met = true;
        next_.clear();
      }
      for (; !next_.empty() && trials_.wants_more(); next_.pop_front()) begin(next_.front());
      exhausted = exhausted || asked_ + next_.size() == budget_;
      // One ahead of need. What was compiled ahead may still fill the compilers' queue.
      if (!exhausted && next_.empty() && !thinker_->is_thinking()) thinker_->think(1);
      if (exhausted && next_.empty() && under_way_ == 0) break;
      trials_.wait(thinker_->fd());
      tell_progress("searching");
    }
    report_.funnel.tried = asked_;
    report_.funnel.recalled = recalled_.size();
    report_.funnel.unfinished = under_way_;
    report_.cut_short = !exhausted || !next_.empty() || under_way_ > 0;
    if (under_way_ > 0) trials_.abandon();
    look_ahead();
  }

  // Whether the rest of the budget is not worth its while; judged after every few results.
  bool target_met() {
    constexpr std::size_t kResults = 8;
    if (!request_.target || done_ < next_judgement_) return false;
    next_judgement_ = done_ + kResults;
    const std::optional<double> gain = thinker_->expected_gain(budget_ - asked_);
    return gain && *gain < 1 - *request_.target;
  }

  // What the rest of the budget would likely buy, or as much again.
  void look_ahead() {
    const std::size_t more = asked_ < budget_ ? budget_ - asked_ : asked_;
    const std::size_t tries = std::min(more, points_.size() - asked_);
    if (tries == 0) return;
    if (const auto gain = thinker_->expected_gain(tries)) report_.outlook = Outlook{tries, *gain};
  }

  void begin(std::size_t point) {
    ++asked_;
    ++under_way_;
    trials_.start(
        points_[point], problem_, [this] { return best_us_; },
        [this, point](Outcome outcome) { finish(point, std::move(outcome)); });
  }

  // Stores the outcome before anything else is made of it.
  void finish(std::size_t point, Outcome outcome) {
    --under_way_;
    ++done_;
    ledger_.store(points_[point], outcome);
    log(points_[point], outcome);
    if (outcome.timing &&
        complete_resources(*outcome.resources, points_[point], request_.device).ctas_per_sm !=
            outcome.resources->ctas_per_sm) {
      ++report_.occupancy_disagreements;
    }
    take(point, std::move(outcome));
  }

  // Counts the outcome and tells the strategy.
  void take(std::size_t point, Outcome outcome) {
    count(outcome);
    std::optional<double> time_us;
    if (outcome.disposition == Disposition::ok) {
      finishers_.push_back({points_[point], std::move(outcome)});
      time_us = finishers_.back().time_us();
    }
    thinker_->tell(point, time_us);
    if (time_us && (!best_us_ || *time_us < *best_us_)) best_us_ = time_us;
  }

  void log(const KnownConfig& config, const Outcome& outcome) const {
    const std::string name = to_string(config.config());
    if (outcome.disposition != Disposition::ok) {
      log_debug(fmt::format("{}: {} {}: {}", to_string(problem_), name,
                            to_string(outcome.disposition), outcome.detail));
    } else {
      log_debug(fmt::format("{}: {} ok, {:.5g} us{}", to_string(problem_), name,
                            outcome.time_us().value(), outcome.timing ? "" : " predicted"));
    }
  }

  void count(const Outcome& outcome) {
    Funnel& funnel = report_.funnel;
    if (outcome.by_environment) {
      ++funnel.failed_by_environment[outcome.detail];
      return;
    }
    switch (outcome.disposition) {
      case Disposition::ok:
        ++funnel.survived;
        return;
      case Disposition::rejected:
        ++funnel.rejected_by_resources[outcome.detail];
        return;
      case Disposition::compile_failed:
        ++funnel.compile_failed[outcome.detail];
        return;
      default:
        if (!outcome.resources) {  // the compiler died or hung: there was nothing to run
          ++funnel.compile_failed[outcome.detail];
          return;
        }
        ++funnel.failed_on_gpu[std::string(to_string(outcome.disposition))];
    }
  }

  void choose_winner(const std::function<void()>& on_finals) {
    if (finishers_.empty()) return;
    rank(finishers_);
    if (request_.measure && !finals_hold()) {
      on_finals();
      hold_finals();
    }
    if (finishers_.empty()) return;
    const auto as_winner = [this](const Finisher& finisher) {
      return TuneWinner{finisher.config, finisher.outcome, baselines_};
    };
    report_.winner = as_winner(finishers_.front());
    for (std::size_t i = 1; i < finishers_.size(); ++i) {
      const Outcome& outcome = finishers_[i].outcome;
      if (outcome.standing == Standing::tied) report_.tied.push_back(as_winner(finishers_[i]));
    }
  }

  bool has_all_baselines(const std::vector<Baseline>& timed) const {
    return std::all_of(request_.baselines.begin(), request_.baselines.end(), [&](auto kind) {
      return std::any_of(timed.begin(), timed.end(),
                         [&](const Baseline& one) { return kind_of(one.name) == kind; });
    });
  }

  // Whether earlier finals decided among the very same candidates, beside the same baselines.
  bool finals_hold() {
    if (asked_ > recalled_.size() || request_.finals_again) return false;
    const Finisher& first = finishers_.front();
    const auto baselines = recalled_baselines_.find(to_string(first.config.config()));
    if (baselines == recalled_baselines_.end() || !has_all_baselines(baselines->second)) {
      return false;
    }
    const Standing standing = first.outcome.standing;
    const bool tied = standing == Standing::tied;
    if (!tied && !(explicit_list() && standing != Standing::search)) return false;
    report_.twins_verified = tied;
    baselines_ = baselines->second;
    return true;
  }

  void hold_finals() {
    Finals finals(trials_, ledger_, problem_, /*judge_ties=*/!explicit_list());
    finals.run(finishers_, [this](const char* stage) { tell_progress(stage); });
    for (const Finisher& loser : finals.disqualified()) {
      --report_.funnel.survived;
      count(loser.outcome);
    }
    report_.twins_verified = finals.complete();
    report_.others = finals.others();
    baselines_ = finals.baselines();
  }

  void tell_progress(const std::string& stage) const {
    Progress progress;
    progress.problem = &problem_;
    progress.number = number_;
    progress.problems = request_.problems.size();
    progress.done = done_;
    progress.budget = budget_;
    progress.recalled = recalled_.size();
    progress.best_us = best_us_;
    progress.is_predicted = !request_.measure;
    progress.stage = stage;
    on_progress_(progress);
  }

  const TuneRequest& request_;
  Trials& trials_;
  Ledger ledger_;
  const OnProgress& on_progress_;
  const Problem problem_;
  const std::size_t number_;  // among the request's, from 1
  std::optional<Clock::time_point> deadline_;
  std::vector<KnownConfig> points_;
  std::vector<std::pair<std::size_t, Outcome>> recalled_;  // by point, as first stored
  std::set<std::size_t> retries_;                          // failed in earlier runs
  // By config text, of the finals that timed it.
  std::map<std::string, std::vector<Baseline>> recalled_baselines_;
  std::optional<SearchSpace> space_;
  std::optional<Thinker> thinker_;  // over space_; none where there is nothing to try
  std::deque<std::size_t> next_;    // asked for, not begun
  bool is_guided_ = false;          // by enough timings made elsewhere
  std::size_t next_judgement_ = 0;  // of the target: so many results
  std::size_t budget_ = 0, asked_ = 0, under_way_ = 0, done_ = 0;
  std::optional<double> best_us_;
  std::vector<Finisher> finishers_;
  std::vector<Baseline> baselines_;
  ProblemReport report_;
};

}  // namespace

Candidates candidates_for(const TuneRequest& request, const Problem& problem) {
  const auto veto = [&](const KnownConfig& point) { return reject(request, problem, point); };
  Candidates result;
  Funnel& funnel = result.funnel;
  if (request.only.empty()) {
    Space space =
        enumerate(families(), settled_params(problem), veto, {request.most_points, request.seed});
    funnel.enumerated = space.enumerated;
    funnel.rejected_by_rule = std::move(space.rejected);
    funnel.left = space.valid;
    result.points = std::move(space.points);
  } else {
    funnel.enumerated = request.only.size();
    for (const KnownConfig& point : request.only) {
      if (const auto reason = veto(point)) {
        ++funnel.rejected_by_rule[std::string(*reason)];
      } else {
        result.points.push_back(point);
      }
    }
    funnel.left = result.points.size();
  }
  funnel.searched = result.points.size();
  return result;
}

PlannedSearch plan_search(const TuneRequest& request, const Problem& problem, Database& database) {
  const Environment environment = environment_of(request);
  Trials trials(request);
  const OnProgress nobody;
  return ProblemSearch(request, environment, trials, database, nobody, problem, 1).planned();
}

TuneReport tune(const TuneRequest& request, Database& database, const OnProgress& on_progress,
                const OnFinished& on_finished) {
  const Environment environment = environment_of(request);
  Trials trials(request);
  const Clock::time_point start = Clock::now();
  TuneReport report;
  const auto search_for = [&](std::size_t i) {
    return std::make_unique<ProblemSearch>(request, environment, trials, database, on_progress,
                                           request.problems[i], i + 1);
  };
  std::unique_ptr<ProblemSearch> next;
  for (std::size_t i = 0; i < request.problems.size() && !interrupted(); ++i) {
    std::optional<Clock::time_point> deadline;
    if (request.time_limit) {
      // What is left is shared evenly, so that the last problem gets its part.
      const auto left = std::max<Clock::duration>(start + *request.time_limit - Clock::now(),
                                                  Clock::duration::zero());
      deadline = Clock::now() + left / (request.problems.size() - i);
    }
    const std::unique_ptr<ProblemSearch> search = next ? std::move(next) : search_for(i);
    const auto prepare_next = [&] {
      if (next || interrupted() || i + 1 == request.problems.size()) return;
      next = search_for(i + 1);
      next->compile_ahead();
    };
    report.problems.push_back(search->run(deadline, prepare_next));
    report.out_of_time |= report.problems.back().cut_short && !interrupted();
    if (on_finished) on_finished(report.problems.back());
  }
  report.interrupted = interrupted();
  return report;
}

}  // namespace gemm_tune
