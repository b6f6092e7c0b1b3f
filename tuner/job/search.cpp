// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/search.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "search/strategy/strategy_by_name.h"
#include "tuner/job/log.h"
#include "tuner/plan/filter.h"
#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

void log(const Problem& problem, const KnownConfig& config, const Outcome& outcome) {
  const std::string name = to_string(config.config());
  if (outcome.disposition != Disposition::ok) {
    log_debug(fmt::format("{}: {} {}: {}", to_string(problem), name, to_string(outcome.disposition),
                          outcome.detail));
  } else {
    log_debug(fmt::format("{}: {} ok, {:.5g} us{}", to_string(problem), name,
                          outcome.time_us().value(), outcome.timing ? "" : " predicted"));
  }
}

// The time that the strategy is told; nullopt for a failure.
std::optional<double> told_us(const Outcome& outcome, Objective objective,
                              const std::optional<double>& most_error) {
  if (outcome.disposition != Disposition::ok) return std::nullopt;
  const double us = outcome.deciding_us(objective).value();
  if (!most_error) return us;
  if (!outcome.error) return std::nullopt;
  return within_error(us, *outcome.error, *most_error);
}

}  // namespace

void count(const KnownConfig& config, const Outcome& outcome, Funnel& funnel) {
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
      // The compiler crashed or hung: nothing could run.
      if (!outcome.resources && !config.family->is_library()) {
        ++funnel.compile_failed[outcome.detail];
        return;
      }
      ++funnel.failed_on_gpu[std::string(to_string(outcome.disposition))];
  }
}

std::shared_ptr<const Proposals> propose_algorithms(const TuneRequest& request,
                                                    const Problem& problem, Trials& trials) {
  const bool tries_any = request.measure && !request.libraries.empty();
  if (!tries_any || why_too_large(request, problem)) return nullptr;
  auto proposals = std::make_shared<Proposals>();
  trials.propose(problem, [proposals](std::vector<KnownConfig> proposed) {
    proposals->configs = std::move(proposed);
  });
  return proposals;
}

Search::Search(Plan plan, const TuneRequest& request, Trials& trials, const ProblemResults& results,
               std::shared_ptr<const Proposals> proposals, const Progress& progress,
               const OnProgress& on_progress)
    : plan_(std::move(plan)),
      request_(request),
      trials_(trials),
      results_(results),
      on_progress_(on_progress),
      proposals_(std::move(proposals)) {
  result_.funnel = plan_.funnel;
  result_.progress = progress;
  result_.progress.problem = &plan_.problem;
  result_.progress.budget = plan_.budget;
  result_.progress.recalled = plan_.recalled.size();
  result_.progress.is_predicted = !request.measure;
  result_.progress.stage = kSearching;
  for (const auto& [config, finals] : plan_.recalled_finals) {
    const std::optional<double> us = fastest_us(finals.baselines, request.rule.objective);
    if (us && (!result_.progress.cublas_us || *us < *result_.progress.cublas_us)) {
      result_.progress.cublas_us = us;
    }
  }
  if (!plan_.space) return;
  const std::size_t recalled = plan_.recalled.size();
  strategy_.emplace(
      make_strategy(plan_.strategy, *plan_.space, std::move(plan_.prior_us), request.seed));
  for (auto& [point, outcome] : plan_.recalled) {
    take(plan_.points[point], point, std::move(outcome));
  }
  for (auto& [config, outcome] : plan_.recalled_algorithms) {
    ++algorithms_;
    take(config, std::nullopt, std::move(outcome));
  }
  result_.progress.done = asked_ = recalled;
  next_.assign(plan_.retries.begin(), plan_.retries.end());
  next_.insert(next_.end(), plan_.leaders.begin(), plan_.leaders.end());
  unasked_.insert(next_.begin(), next_.end());
  const std::size_t left = plan_.budget - recalled - next_.size();
  if (left == 0) return;
  // What leads is compiled first, and its results shall guide the rest.
  const std::size_t compilers = trials_.compilers();
  const std::size_t first = compilers > next_.size() ? compilers - next_.size() : 1;
  const std::vector<std::size_t> points = strategy_->ask(std::min(left, first));
  // Earlier runs may have settled it, unless likely variants of their best are among the points.
  const bool is_over = next_.empty() && is_settled() && strategy_->gain_under_way();
  if (!is_over) take_up(points);
}

void Search::take_up(const std::vector<std::size_t>& points) {
  std::copy_if(points.begin(), points.end(), std::back_inserter(next_),
               [this](std::size_t point) { return !unasked_.contains(point); });
}

Searched Search::run(std::optional<TimeShare> time) {
  if (!strategy_) {
    if (proposals_) trials_.abandon();
    return std::move(result_);
  }
  result_.settled = next_.empty() && asked_ < plan_.budget && is_settled();
  is_exhausted_ = next_.empty() && !result_.settled;
  const auto start = RunningClock::now();
  const std::size_t recalled_algorithms = algorithms_;
  tell_progress();
  const auto is_out_of_time = [&] {
    return time && time->is_over(RunningClock::now(), result_.progress.best_us.has_value());
  };
  while (!trials_.interrupted()) {
    if (is_out_of_time()) {
      // Libraries' algorithms need no compiler, and a winner shall not be slower than they are.
      if (!awaits_algorithms() || !result_.progress.best_us) break;
      begin_algorithms();
    } else {
      ask_and_begin();
      abandon_what_promises_little();
      compile_likely_specialisations();
    }
    if (has_all_that_it_asked() && under_way_ == 0) break;
    trials_.wait(strategy_->is_asking() ? strategy_->fd() : -1);
    if (!result_.first_result && result_.progress.best_us &&
        result_.progress.done > plan_.recalled.size()) {
      result_.first_result = RunningClock::now() - start;
    }
    tell_progress();
  }
  result_.funnel.tried = asked_ + algorithms_;
  result_.funnel.algorithms = algorithms_;
  result_.funnel.recalled = plan_.recalled.size() + recalled_algorithms;
  result_.funnel.unfinished = under_way_;
  result_.tried_now = result_.funnel.tried - result_.funnel.recalled;
  if (!has_all_that_it_asked() || under_way_ > 0) {
    result_.cut_short = trials_.interrupted() ? CutShort::by_interruption : CutShort::by_time_limit;
  }
  if (under_way_ > 0 || proposals_) trials_.abandon();
  const SignalsBlocked blocked;
  result_.expected_gain = std::async(std::launch::async, [this] { return expected_gain(); });
  return std::move(result_);
}

// Keeps compilers and GPUs busy with the strategy's choices, and the strategy busy with the next.
void Search::ask_and_begin() {
  if (is_ending_) return;
  if (const auto points = strategy_->answer(); points && !is_exhausted_) {
    take_up(*points);
    is_exhausted_ = points->empty();
  }
  if (!is_exhausted_ && target_met()) {
    is_exhausted_ = result_.target_met = true;
    next_.clear();
  }
  begin_algorithms();  // first, for they need no compilation
  for (; !next_.empty() && trials_.wants_more(); next_.pop_front()) begin(next_.front());
  is_exhausted_ = is_exhausted_ || asked_ + next_.size() == plan_.budget;
  // A result of what is under way may still open the search again.
  result_.settled = !is_exhausted_ && next_.empty() && !strategy_->is_asking() && is_settled();
  if (result_.settled) return;
  // Asks for one point ahead of need.
  if (!is_exhausted_ && next_.empty() && !strategy_->is_asking()) strategy_->begin_ask(1);
}

// The finals wait for the specialisations of the best kernel, whose compilation takes a second or
// two.
void Search::compile_likely_specialisations() {
  if (!request_.measure || !best_kernel_ || under_way_ == 0) return;
  if (!has_all_that_it_asked() && !is_best_settled_) return;
  std::string kernel = to_string(best_kernel_->config.config());
  if (kernel == with_specialisations_) return;
  with_specialisations_ = std::move(kernel);
  trials_.compile_ahead(specialisations_of(best_kernel_->config), plan_.problem.epilogue);
}

// Where the search is over but for what is under way. Likely variants of the best are awaited. The
// rest is awaited only as long as all together promises enough (StopRule::worth_waiting), and near
// a known size not at all: as many before it gained nothing.
void Search::abandon_what_promises_little() {
  if (is_ending_ || !result_.settled || !has_all_that_it_asked() || under_way_ == 0) return;
  if (judged_at_ == result_.progress.done) return;
  judged_at_ = result_.progress.done;
  const std::optional<double> gain = strategy_->gain_under_way();
  if (!gain || (!plan_.is_near_known && *gain >= StopRule().worth_waiting)) return;
  const std::size_t abandoned = trials_.abandon_compilations();
  under_way_ -= abandoned;
  asked_ -= abandoned;
  is_ending_ = true;
}

// Whether the expected gain of the remaining budget is below the request's target. Judged once
// every few results.
bool Search::target_met() {
  constexpr std::size_t kResults = 8;
  const std::size_t done = result_.progress.done;
  if (!request_.target || done < next_judgement_) return false;
  next_judgement_ = done + kResults;
  const std::optional<double> gain = strategy_->expected_gain(plan_.budget - asked_);
  return gain && *gain < 1 - *request_.target;
}

// Whether a search whose end nobody named is over.
bool Search::is_settled() {
  if (!plan_.ends_itself) return false;
  const std::optional<Outlook> outlook = strategy_->outlook();
  is_best_settled_ = outlook && StopRule().has_settled(*outlook);
  return outlook && StopRule().is_over(*outlook, plan_.is_near_known);
}

std::optional<ExpectedGain> Search::expected_gain() {
  const std::size_t more = asked_ < plan_.budget ? plan_.budget - asked_ : asked_;
  const std::size_t tries = std::min(more, plan_.points.size() - asked_);
  const std::optional<double> gain = tries > 0 ? strategy_->expected_gain(tries) : std::nullopt;
  return gain ? std::optional(ExpectedGain{tries, *gain}) : std::nullopt;
}

// Libraries propose the same algorithms again: those of earlier runs are left out.
void Search::take_proposals() {
  if (!proposals_ || !proposals_->configs) return;
  std::set<std::string> known;
  for (const auto& [config, outcome] : plan_.recalled_algorithms) {
    known.insert(to_string(config.config()));
  }
  for (const KnownConfig& config : *proposals_->configs) {
    if (known.insert(to_string(config.config())).second) next_algorithms_.push_back(config);
  }
  result_.progress.budget += next_algorithms_.size();
  proposals_.reset();
}

void Search::begin_algorithms() {
  take_proposals();
  for (; !next_algorithms_.empty() && trials_.wants_more(); next_algorithms_.pop_front()) {
    begin_algorithm(next_algorithms_.front());
  }
}

void Search::begin_algorithm(const KnownConfig& config) {
  ++algorithms_;
  ++algorithms_under_way_;
  ++under_way_;
  trials_.start(
      config, plan_.problem, [this] { return result_.progress.best_us; },
      [this, config](Outcome outcome) {
        --algorithms_under_way_;
        --under_way_;
        ++result_.progress.done;
        store_and_log(config, outcome);
        take(config, std::nullopt, std::move(outcome));
      });
}

void Search::begin(std::size_t point) {
  ++asked_;
  ++under_way_;
  trials_.start(
      plan_.points[point], plan_.problem,
      [this] { return best_kernel_ ? std::optional(best_kernel_->us) : std::nullopt; },
      [this, point](Outcome outcome) { finish(point, std::move(outcome)); });
}

void Search::store_and_log(const KnownConfig& config, const Outcome& outcome) {
  results_.store(config, outcome);
  log(plan_.problem, config, outcome);
}

// Stores the outcome first, before any other step uses it.
void Search::finish(std::size_t point, Outcome outcome) {
  --under_way_;
  ++result_.progress.done;
  const KnownConfig& config = plan_.points[point];
  store_and_log(config, outcome);
  if (outcome.timing &&
      complete_resources(*outcome.resources, config, request_.device).ctas_per_sm !=
          outcome.resources->ctas_per_sm) {
    ++result_.occupancy_disagreements;
  }
  take(config, point, std::move(outcome));
}

// Counts the outcome, reports it to the strategy and keeps it if it has a time. point: nothing for
// a library's algorithm, of which the strategy knows nothing.
void Search::take(const KnownConfig& config, std::optional<std::size_t> point, Outcome outcome) {
  count(config, outcome, result_.funnel);
  const std::optional<double> us = told_us(outcome, request_.rule.objective, plan_.most_error);
  if (point) strategy_->tell(*point, us);
  if (point && outcome.disposition == Disposition::rejected) {
    for (const std::size_t other : rejected_alike(plan_.points, *point)) strategy_->spare(other);
  }
  if (us && is_within(outcome, plan_.most_error)) {
    std::optional<double>& best_us = result_.progress.best_us;
    if (!best_us || *us < *best_us) best_us = us;
    const bool is_kernel = !config.family->is_library();
    if (is_kernel && (!best_kernel_ || *us < best_kernel_->us)) {
      best_kernel_.emplace(BestKernel{config, *us});
    }
  }
  if (outcome.disposition == Disposition::ok) result_.timed.push_back({config, std::move(outcome)});
}

void Search::tell_progress() {
  trials_.tell_lanes(result_.progress);
  on_progress_(result_.progress);
}

}  // namespace gemm_tune
