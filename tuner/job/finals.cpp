// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/finals.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tuner/measure/sampling.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kMinFinalists = 8;
constexpr std::size_t kMaxFinalists = 24;
// A single timing and a timing in turn with others differ by less than this factor. The winner is
// no slower than the fastest by more.
constexpr double kReach = 1.03;
constexpr int kMaxRounds = 5;
// The first finalists, whose twins are compiled during the finals.
constexpr std::size_t kTwinsAhead = 4;

// The predicated twins that must be served beside the config.
std::vector<KnownConfig> twins_of(const KnownConfig& config) {
  std::vector<KnownConfig> twins = served_variants(config);
  twins.erase(twins.begin());
  return twins;
}

class Finals {
 public:
  Finals(Trials& trials, ProblemResults& results, const Problem& problem,
         std::vector<Finisher> finishers, std::vector<Finisher> passed_over, bool judge_ties,
         const WinnerRule& rule)
      : trials_(trials),
        results_(results),
        problem_(problem),
        judge_ties_(judge_ties),
        rule_(rule) {
    begun_.finishers = std::move(finishers);
    begun_.passed_over = std::move(passed_over);
    result_ = begun_;
  }

  FinalsResult run(const OnFinalsStage& tell);

 private:
  enum class Round { timed, moved, interrupted };

  bool time();
  Round time_once();
  void begin_anew();
  void judge();
  void pass_over();
  std::optional<Outcome> twins_failure(const KnownConfig& config);
  void disqualify(std::vector<Finisher>& among, std::size_t index, const Outcome& failure);
  bool is_right(Objective objective);
  void store();

  Trials& trials_;
  ProblemResults& results_;
  const Problem& problem_;
  const bool judge_ties_;
  const WinnerRule rule_;
  FinalsResult begun_, result_;                               // without any finals; so far
  std::optional<std::pair<std::uint64_t, std::size_t>> gpu_;  // of all rounds so far
};

// After the loss of the GPU: times of two GPUs differ by more than finalists do.
void Finals::begin_anew() {
  FinalsResult anew = begun_;
  anew.disqualified = std::move(result_.disqualified);
  const auto is_out = [&](const Finisher& one) {
    return std::any_of(anew.disqualified.begin(), anew.disqualified.end(), [&](const auto& out) {
      return to_string(out.config.config()) == to_string(one.config.config());
    });
  };
  std::erase_if(anew.finishers, is_out);
  std::erase_if(anew.passed_over, is_out);
  rank(anew.finishers, rule_.objective);
  result_ = std::move(anew);
  gpu_.reset();
}

// One round of timings: the currently best finishers and the baselines. Keeps none of a round on
// another GPU than that of the rounds before.
Finals::Round Finals::time_once() {
  std::vector<Finisher>& finishers = result_.finishers;
  const std::size_t count = finalists_among(finishers, rule_.objective);
  std::vector<KnownConfig> configs;
  for (std::size_t i = 0; i < count; ++i) configs.push_back(finishers[i].config);
  for (std::size_t i = 0; i < std::min(count, kTwinsAhead); ++i) {
    trials_.compile_ahead(twins_of(configs[i]));
  }
  std::optional<TimedFinals> reply = trials_.finals(configs, problem_);
  if (!reply) return Round::interrupted;
  if (gpu_.value_or(reply->gpu) != reply->gpu) return Round::moved;
  gpu_ = reply->gpu;
  result_.baselines = std::move(reply->baselines);
  result_.absent = std::move(reply->absent);
  result_.others = std::move(reply->others);
  for (std::size_t i = 0; i < finishers.size(); ++i) {
    finishers[i].in_finals = i < count;
    if (i < count) {
      finishers[i].outcome.timing = std::move(reply->finalists[i]);
      finishers[i].outcome.error = reply->errors[i];
      finishers[i].outcome.twins_verified = false;
      finishers[i].retimed = true;
    }
    // A candidate that took part in earlier finals only is no longer among the best.
    const bool before = finishers[i].outcome.standing != Standing::search;
    finishers[i].outcome.standing = i < count || before ? Standing::finals : Standing::search;
  }
  pass_over();  // first: only what may win is judged, and preferred for its cold time
  if (judge_ties_) judge();
  rank(finishers, rule_.objective);
  if (rule_.objective == Objective::hot) prefer_cold_among_equals(finishers, Timed::now);
  return Round::timed;
}

void Finals::judge() {
  std::vector<Finisher>& finishers = result_.finishers;
  std::vector<std::vector<double>> samples;
  for (const Finisher& finisher : finishers) {
    if (finisher.in_finals) samples.push_back(finisher.outcome.timing->samples_us);
  }
  const std::vector<bool> tied = ties(samples);
  for (std::size_t i = 0; i < tied.size(); ++i) {
    if (tied[i]) finishers[i].outcome.standing = Standing::tied;
  }
}

// Removes the finalists whose error is above the limit.
void Finals::pass_over() {
  const std::optional<double> theirs = measured_cublas_error(result_.baselines);
  if (!rule_.max_error || !theirs) return;
  const double most = *rule_.max_error * *theirs;
  std::erase_if(result_.finishers, [&](Finisher& finisher) {
    if (!finisher.in_finals || is_within(finisher.outcome, most)) return false;
    result_.passed_over.push_back(std::move(finisher));
    return true;
  });
}

// Repeats the finals if their times are slower than that of a candidate outside them.
bool Finals::time() {
  for (int round = 0; round < kMaxRounds; ++round) {
    const Round how = time_once();
    if (how == Round::interrupted) return false;
    if (how == Round::moved) {
      begin_anew();
      round = -1;
      continue;
    }
    if (result_.finishers.empty() || result_.finishers.front().in_finals) break;
  }
  return true;
}

// The failure of one of the config's predicated twins; nullopt if all are correct.
std::optional<Outcome> Finals::twins_failure(const KnownConfig& config) {
  for (const KnownConfig& twin : twins_of(config)) {
    std::optional<Outcome> outcome;
    trials_.verify(twin, problem_, [&](Outcome result) { outcome = std::move(result); });
    while (!outcome && !trials_.interrupted()) trials_.wait();
    if (!outcome) trials_.abandon();
    if (!outcome || outcome->disposition == Disposition::ok) continue;
    outcome->detail = "its twin " + to_string(twin.config()) + ": " + outcome->detail;
    return outcome;
  }
  return std::nullopt;
}

void Finals::disqualify(std::vector<Finisher>& among, std::size_t index, const Outcome& failure) {
  Finisher loser = std::move(among[index]);
  among.erase(among.begin() + static_cast<std::ptrdiff_t>(index));
  loser.outcome.disposition = failure.disposition;
  loser.outcome.detail = failure.detail;
  loser.outcome.by_environment = failure.by_environment;
  results_.store(loser.config, loser.outcome);
  result_.disqualified.push_back(std::move(loser));
}

// In one transaction: half of the standings would look like a finished decision.
void Finals::store() {
  results_.together([&] {
    for (const Baseline& baseline : result_.baselines) results_.store_baseline(baseline);
    for (const Finisher& finisher : result_.finishers) {
      if (finisher.retimed) {
        results_.store(finisher.config, finisher.outcome);
      } else if (finisher.outcome.standing != Standing::search) {
        results_.set_standing(finisher.config, finisher.outcome.standing);
      }
    }
  });
  result_.complete = true;
}

// Whether the twins are right of the best by this objective without a limit of errors, which `best`
// and `export` may be asked for whatever this run's rule is. If they are not, it is disqualified.
bool Finals::is_right(Objective objective) {
  std::vector<Finisher>* among = nullptr;
  std::size_t index = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::vector<Finisher>* const list : {&result_.finishers, &result_.passed_over}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::optional<Timing>& timing = (*list)[i].outcome.timing;
      if (!timing || (objective == Objective::cold && !timing->cold_us)) continue;
      const double us = objective == Objective::cold ? *timing->cold_us : timing->median_us;
      if (us >= least) continue;
      least = us;
      among = list;
      index = i;
    }
  }
  if (among == nullptr || (*among)[index].outcome.twins_verified.value_or(false)) return true;
  const std::optional<Outcome> failure = twins_failure((*among)[index].config);
  if (trials_.interrupted()) return true;
  if (!failure) {
    (*among)[index].outcome.twins_verified = true;
    return true;
  }
  disqualify(*among, index, *failure);
  return false;
}

FinalsResult Finals::run(const OnFinalsStage& tell) {
  rank(result_.finishers, rule_.objective);
  while (!result_.finishers.empty() && !trials_.interrupted()) {
    tell("finals", result_);
    if (!time() || result_.finishers.empty()) break;
    tell("twins", result_);
    const std::optional<Outcome> failure = twins_failure(result_.finishers.front().config);
    if (trials_.interrupted()) break;
    if (failure) {
      disqualify(result_.finishers, 0, *failure);
      continue;
    }
    result_.finishers.front().outcome.twins_verified = true;
    // Without the disqualified one the winner may be another.
    if (!is_right(Objective::hot) || !is_right(Objective::cold)) continue;
    if (!trials_.interrupted()) store();
    break;
  }
  return std::move(result_);
}

bool has_all_baselines(const TuneRequest& request, const std::vector<Baseline>& timed) {
  return std::all_of(request.baselines.begin(), request.baselines.end(), [&](BaselineKind kind) {
    return std::any_of(timed.begin(), timed.end(),
                       [&](const Baseline& one) { return kind_of(one.name) == kind; });
  });
}

std::vector<Baseline>::const_iterator find_cublas(const std::vector<Baseline>& baselines) {
  return std::find_if(baselines.begin(), baselines.end(), [](const Baseline& baseline) {
    return kind_of(baseline.name) == BaselineKind::cublas;
  });
}

}  // namespace

bool is_within(const Outcome& outcome, const std::optional<double>& most_error) {
  return !most_error || (outcome.error && *outcome.error <= *most_error);
}

std::optional<double> cublas_error(const std::vector<Baseline>& baselines) {
  const auto cublas = find_cublas(baselines);
  return cublas == baselines.end() ? std::nullopt : cublas->error;
}

std::optional<double> measured_cublas_error(const std::vector<Baseline>& baselines) {
  const auto cublas = find_cublas(baselines);
  if (cublas == baselines.end()) return std::nullopt;
  return cublas->error.value_or(std::numeric_limits<double>::infinity());
}

std::optional<double> fastest_us(const std::vector<Baseline>& baselines, Objective objective) {
  std::optional<double> fastest;
  for (const auto& [name, timing, error] : baselines) {
    const double us =
        objective == Objective::cold ? timing.cold_us.value_or(timing.median_us) : timing.median_us;
    fastest = std::min(fastest.value_or(us), us);
  }
  return fastest;
}

void rank(std::vector<Finisher>& finishers, Objective objective) {
  std::sort(finishers.begin(), finishers.end(), [&](const Finisher& a, const Finisher& b) {
    const auto a_us = a.outcome.deciding_us(objective), b_us = b.outcome.deciding_us(objective);
    if (a_us != b_us) return a_us < b_us;
    return to_string(a.config.config()) < to_string(b.config.config());
  });
}

void prefer_cold_among_equals(std::vector<Finisher>& ranked, Timed timed) {
  const auto has_all_figures = [](const Outcome& outcome) {
    return outcome.timing && outcome.timing->cold_us && outcome.error;
  };
  if (ranked.empty()) return;
  const Outcome& fastest = ranked.front().outcome;
  if (fastest.standing != Standing::tied || !has_all_figures(fastest)) return;
  // db/schema.sql has the same numbers. Two runs of the program time one config 0.5 % apart.
  const bool is_of_version_3 = timed == Timed::earlier && !fastest.twins_verified;
  const double most_us = (is_of_version_3 ? 1.005 : kReach) * fastest.timing->median_us;
  const auto may_win = [&](const Finisher& finisher) {
    const Outcome& outcome = finisher.outcome;
    if (!has_all_figures(outcome) || outcome.timing->median_us > most_us) return false;
    if (timed == Timed::now) return finisher.in_finals;
    return outcome.standing == Standing::tied &&
           (is_of_version_3 ? !outcome.twins_verified : outcome.twins_verified.value_or(false));
  };
  const auto cost = [&](const Finisher& finisher) {
    const Timing& timing = *finisher.outcome.timing;
    return *timing.cold_us * (is_of_version_3 ? 1 : timing.median_us);
  };
  auto best = ranked.end();
  for (auto one = ranked.begin(); one != ranked.end(); ++one) {
    if (may_win(*one) && (best == ranked.end() || cost(*one) < cost(*best))) best = one;
  }
  if (best == ranked.end()) return;
  std::rotate(ranked.begin(), best, best + 1);
  ranked.front().outcome.standing = Standing::tied;
}

std::size_t finalists_among(const std::vector<Finisher>& ranked, Objective objective) {
  const auto us = [&](const Finisher& one) { return one.outcome.deciding_us(objective).value(); };
  const auto out_of_reach = std::find_if(ranked.begin(), ranked.end(), [&](const Finisher& f) {
    return us(f) > kReach * us(ranked.front());
  });
  const auto within = static_cast<std::size_t>(out_of_reach - ranked.begin());
  return std::min(std::clamp(within, kMinFinalists, kMaxFinalists), ranked.size());
}

FinalsResult hold_finals(Trials& trials, ProblemResults& results, const Problem& problem,
                         std::vector<Finisher> finishers, std::vector<Finisher> passed_over,
                         bool judge_ties, const WinnerRule& rule, const OnFinalsStage& tell) {
  return Finals(trials, results, problem, std::move(finishers), std::move(passed_over), judge_ties,
                rule)
      .run(tell);
}

std::optional<FinalsResult> earlier_finals(const TuneRequest& request, const Plan& plan,
                                           std::vector<Finisher> ranked) {
  if (request.rule.objective == Objective::hot) prefer_cold_among_equals(ranked, Timed::earlier);
  const Finisher& first = ranked.front();
  const auto baselines = plan.recalled_baselines.find(to_string(first.config.config()));
  if (baselines == plan.recalled_baselines.end() ||
      !has_all_baselines(request, baselines->second)) {
    return std::nullopt;
  }
  if (first.outcome.twins_verified == false) return std::nullopt;
  const Standing standing = first.outcome.standing;
  const bool must_be_tied = request.judges_ties();
  if (standing == Standing::search || (standing != Standing::tied && must_be_tied)) {
    return std::nullopt;
  }
  FinalsResult result;
  result.finishers = std::move(ranked);
  result.baselines = baselines->second;
  result.complete = standing == Standing::tied;
  return result;
}

}  // namespace gemm_tune
