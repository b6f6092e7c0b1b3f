// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/finals.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/candidate/winner_rule.h"
#include "core/problem/matrix_bytes.h"
#include "tuner/measure/sampling.h"

namespace gemm_tune {
namespace {

constexpr int kMaxRounds = 5;

// By rank where they have one, then by time.
void sort_by_rank(std::vector<RankedCandidate>& candidates, Objective objective) {
  sort_by_time(candidates, objective);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const RankedCandidate& a, const RankedCandidate& b) {
                     constexpr int kLast = std::numeric_limits<int>::max();
                     return rank_by(objective, a.outcome).value_or(kLast) <
                            rank_by(objective, b.outcome).value_or(kLast);
                   });
}

class Finals {
 public:
  Finals(Trials& trials, ProblemResults& results, const Problem& problem,
         std::vector<RankedCandidate> candidates, std::vector<RankedCandidate> passed_over,
         const TuneRequest& request)
      : trials_(trials),
        results_(results),
        problem_(problem),
        rule_(request.rule),
        reach_(finals_reach(problem, request.device)) {
    begun_.candidates = std::move(candidates);
    begun_.passed_over = std::move(passed_over);
    result_ = begun_;
  }

  FinalsResult run(const OnFinalsStage& tell);

 private:
  enum class Round { timed, moved, interrupted };

  bool time();
  bool has_timed_the_best() const;
  Round time_once();
  void begin_anew();
  void pass_over();
  void rank();
  std::vector<RankedCandidate*> finalists();
  std::vector<RankedCandidate*> to_verify();
  std::map<std::string, Outcome> verified_specialisations(const std::vector<RankedCandidate*>& all);
  void disqualify(const RankedCandidate& one, const Outcome& failure);
  bool verify();
  void store();

  Trials& trials_;
  ProblemResults& results_;
  const Problem& problem_;
  const WinnerRule rule_;
  const double reach_;
  FinalsResult begun_, result_;                               // without any finals; so far
  std::optional<std::pair<std::uint64_t, std::size_t>> gpu_;  // of all rounds so far
};

bool is_same(const RankedCandidate& a, const RankedCandidate& b) {
  return to_string(a.config.config()) == to_string(b.config.config());
}

// After the loss of the GPU: times of two GPUs differ by more than finalists do.
void Finals::begin_anew() {
  FinalsResult anew = begun_;
  anew.disqualified = std::move(result_.disqualified);
  const auto is_out = [&](const RankedCandidate& one) {
    return std::any_of(anew.disqualified.begin(), anew.disqualified.end(),
                       [&](const RankedCandidate& out) { return is_same(out, one); });
  };
  std::erase_if(anew.candidates, is_out);
  std::erase_if(anew.passed_over, is_out);
  sort_by_time(anew.candidates, rule_.objective);
  result_ = std::move(anew);
  gpu_.reset();
}

// One round of timings: the currently best candidates and the baselines. Keeps none of a round on
// another GPU than that of the rounds before.
Finals::Round Finals::time_once() {
  std::vector<RankedCandidate>& candidates = result_.candidates;
  const std::size_t count = finalists_among(candidates, rule_.objective, reach_);
  std::vector<KnownConfig> configs;
  for (std::size_t i = 0; i < count; ++i) configs.push_back(candidates[i].config);
  // Of the first finalists, as far as there are compilers: they are idle meanwhile.
  std::size_t specialisations = 0;
  for (std::size_t i = 0; i < count && specialisations < trials_.compilers(); ++i) {
    const std::vector<KnownConfig> its = specialisations_of(configs[i]);
    trials_.compile_ahead(its, problem_.epilogue);
    specialisations += its.size();
  }
  std::optional<TimedFinals> reply = trials_.finals(configs, problem_);
  if (!reply) return Round::interrupted;
  if (gpu_.value_or(reply->gpu) != reply->gpu) return Round::moved;
  gpu_ = reply->gpu;
  result_.baselines = std::move(reply->baselines);
  result_.absent = std::move(reply->absent);
  result_.others = std::move(reply->others);
  for (RankedCandidate& one : result_.passed_over) one.in_finals = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].in_finals = i < count;
    if (i >= count) continue;
    candidates[i].outcome.timing = std::move(reply->finalists[i]);
    candidates[i].outcome.error = reply->errors[i];
    candidates[i].retimed = true;
  }
  sort_by_time(candidates, rule_.objective);
  return Round::timed;
}

// Whether the fastest of all and the fastest kernel are of the latest round.
bool Finals::has_timed_the_best() const {
  const std::vector<RankedCandidate>& all = result_.candidates;
  const auto kernel = std::find_if(all.begin(), all.end(), is_kernel);
  return all.empty() || (all.front().in_finals && (kernel == all.end() || kernel->in_finals));
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
    pass_over();
    if (has_timed_the_best()) break;
  }
  rank();
  return true;
}

// Removes the finalists whose error is above the limit.
void Finals::pass_over() {
  const std::optional<double> theirs = measured_cublas_error(result_.baselines);
  if (!rule_.max_error || !theirs) return;
  const double most = *rule_.max_error * *theirs;
  std::erase_if(result_.candidates, [&](RankedCandidate& candidate) {
    if (!candidate.in_finals || is_within(candidate.outcome, most)) return false;
    result_.passed_over.push_back(std::move(candidate));
    return true;
  });
}

// All that these finals timed, those above the limit of errors too: a reader may have another.
std::vector<RankedCandidate*> Finals::finalists() {
  std::vector<RankedCandidate*> all;
  for (std::vector<RankedCandidate>* const list : {&result_.candidates, &result_.passed_over}) {
    for (RankedCandidate& one : *list) {
      if (one.retimed) all.push_back(&one);
    }
  }
  return all;
}

void Finals::rank() {
  for (RankedCandidate& one : result_.candidates) one.outcome.ranking.reset();
  const std::vector<RankedCandidate*> all = finalists();
  std::vector<std::vector<double>> samples;
  for (const RankedCandidate* const one : all) {
    if (one->in_finals) samples.push_back(one->outcome.timing->samples_us);
  }
  const std::vector<bool> tied = samples.empty() ? std::vector<bool>() : ties(samples);
  std::vector<Finalist> finalists;
  std::size_t timed = 0;
  for (RankedCandidate* const one : all) {
    one->outcome.ranking = Ranking{};
    one->outcome.ranking->tied = one->in_finals && tied[timed++];
    finalists.push_back({to_string(one->config.config()), &one->outcome, one->in_finals});
  }
  rank_finalists(finalists);
  sort_by_rank(result_.candidates, rule_.objective);
}

// What may be handed out: the first by each of the ranks, of all and of kernels, and the winner by
// this run's rule.
std::vector<RankedCandidate*> Finals::to_verify() {
  std::vector<RankedCandidate*> found;
  const auto add = [&](RankedCandidate* one) {
    if (one != nullptr && std::find(found.begin(), found.end(), one) == found.end()) {
      found.push_back(one);
    }
  };
  const auto first_by = [&](Objective objective, bool kernels_alone) {
    RankedCandidate* first = nullptr;
    for (RankedCandidate* const one : finalists()) {
      const std::optional<int> rank = rank_by(objective, one->outcome);
      if (!rank || (kernels_alone && !is_kernel(*one))) continue;
      if (first == nullptr || *rank < rank_by(objective, first->outcome)) first = one;
    }
    return first;
  };
  std::vector<RankedCandidate>& candidates = result_.candidates;
  const auto kernel = std::find_if(candidates.begin(), candidates.end(), is_kernel);
  if (!candidates.empty()) add(&candidates.front());
  if (kernel != candidates.end()) add(&*kernel);
  for (const Objective objective : {Objective::hot, Objective::cold}) {
    for (const bool kernels_alone : {false, true}) add(first_by(objective, kernels_alone));
  }
  return found;
}

// Verifies the specialisations of all these configs side by side: each compilation takes a second
// or two. By the text of a specialisation; incomplete where the run was interrupted.
std::map<std::string, Outcome> Finals::verified_specialisations(
    const std::vector<RankedCandidate*>& all) {
  std::map<std::string, Outcome> outcomes;
  std::set<std::string> begun;
  for (const RankedCandidate* const one : all) {
    for (const KnownConfig& specialisation : specialisations_of(one->config)) {
      const std::string text = to_string(specialisation.config());
      if (!begun.insert(text).second) continue;
      trials_.verify(specialisation, problem_, [&outcomes, text](Outcome outcome) {
        outcomes.emplace(text, std::move(outcome));
      });
    }
  }
  while (outcomes.size() < begun.size() && !trials_.interrupted()) trials_.wait();
  if (outcomes.size() < begun.size()) trials_.abandon();
  return outcomes;
}

// The failure of the first of the config's specialisations that is not correct.
std::optional<Outcome> failure_among(const std::map<std::string, Outcome>& outcomes,
                                     const KnownConfig& config) {
  for (const KnownConfig& specialisation : specialisations_of(config)) {
    const auto found = outcomes.find(to_string(specialisation.config()));
    if (found == outcomes.end() || found->second.disposition == Disposition::ok) continue;
    Outcome outcome = found->second;
    outcome.detail = "its specialisation " + found->first + ": " + outcome.detail;
    return outcome;
  }
  return std::nullopt;
}

void Finals::disqualify(const RankedCandidate& one, const Outcome& failure) {
  RankedCandidate out = one;
  const auto is_it = [&](const RankedCandidate& other) { return is_same(other, out); };
  std::erase_if(result_.candidates, is_it);
  std::erase_if(result_.passed_over, is_it);
  out.outcome.disposition = failure.disposition;
  out.outcome.detail = failure.detail;
  out.outcome.by_environment = failure.by_environment;
  out.outcome.ranking.reset();
  results_.store(out.config, out.outcome);
  result_.disqualified.push_back(std::move(out));
}

// Whether all that may be handed out serve every size. Those that do not are disqualified: without
// them others may be the first.
bool Finals::verify() {
  std::vector<RankedCandidate*> unverified = to_verify();
  std::erase_if(unverified, [](const RankedCandidate* one) {
    return one->outcome.ranking && one->outcome.ranking->verified;
  });
  const std::map<std::string, Outcome> outcomes = verified_specialisations(unverified);
  if (trials_.interrupted()) return true;
  std::vector<std::pair<RankedCandidate, Outcome>> failures;
  for (RankedCandidate* const one : unverified) {
    if (auto failure = failure_among(outcomes, one->config)) {
      failures.emplace_back(*one, *std::move(failure));
    } else if (one->outcome.ranking) {
      one->outcome.ranking->verified = true;
    }
  }
  for (const auto& [one, failure] : failures) disqualify(one, failure);
  return failures.empty();
}

// In one transaction: half of the ranks would look like a finished decision.
void Finals::store() {
  results_.together([&] {
    for (const Baseline& baseline : result_.baselines) results_.store_baseline(baseline);
    for (const RankedCandidate* const one : finalists()) {
      results_.store(one->config, one->outcome);
    }
  });
  result_.complete = true;
}

FinalsResult Finals::run(const OnFinalsStage& tell) {
  sort_by_time(result_.candidates, rule_.objective);
  while (!result_.candidates.empty() && !trials_.interrupted()) {
    tell("finals", result_);
    if (!time() || result_.candidates.empty()) break;
    tell("specialisations", result_);
    const bool is_right = verify();
    if (trials_.interrupted()) break;
    if (!is_right) continue;
    store();
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

std::vector<KnownConfig> specialisations_of(const KnownConfig& config) {
  std::vector<KnownConfig> specialisations = served_variants(config);
  specialisations.erase(specialisations.begin());
  return specialisations;
}

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
  for (const Baseline& baseline : baselines) {
    const Timing& timing = baseline.timing;
    const double us =
        objective == Objective::cold ? timing.cold_us.value_or(timing.median_us) : timing.median_us;
    fastest = std::min(fastest.value_or(us), us);
  }
  return fastest;
}

void sort_by_time(std::vector<RankedCandidate>& candidates, Objective objective) {
  std::sort(candidates.begin(), candidates.end(),
            [&](const RankedCandidate& a, const RankedCandidate& b) {
              const auto a_us = a.outcome.deciding_us(objective),
                         b_us = b.outcome.deciding_us(objective);
              if (a_us != b_us) return a_us < b_us;
              return to_string(a.config.config()) < to_string(b.config.config());
            });
}

double finals_reach(const Problem& problem, const DeviceSpec& device) {
  const double bytes = matrix_bytes(problem);
  const bool exceeds_l2 = device.l2_bytes > 0 && bytes > static_cast<double>(device.l2_bytes);
  return exceeds_l2 && flops(problem) >= kMultiplyBound * bytes ? kReachBeyondL2 : kReach;
}

std::size_t finalists_among(std::vector<RankedCandidate>& candidates, Objective objective,
                            double reach) {
  if (candidates.empty()) return 0;
  const auto us = [&](const RankedCandidate& one) {
    return one.outcome.deciding_us(objective).value();
  };
  const double best_us = us(candidates.front());
  const auto best_kernel = std::find_if(candidates.begin(), candidates.end(), is_kernel);
  const double best_kernel_us = best_kernel == candidates.end() ? 0 : us(*best_kernel);
  std::size_t kernels = 0, algorithms = 0;
  const auto takes_part = [&](const RankedCandidate& one) {
    if (!is_kernel(one)) return us(one) <= reach * best_us && ++algorithms <= kMinFinalists;
    ++kernels;
    return kernels <= kMinFinalists ||
           (kernels <= kMaxFinalists && us(one) <= reach * best_kernel_us);
  };
  std::vector<RankedCandidate> in, out;
  for (RankedCandidate& one : candidates) {
    std::vector<RankedCandidate>& list = takes_part(one) ? in : out;
    list.push_back(std::move(one));
  }
  const std::size_t count = in.size();
  std::move(out.begin(), out.end(), std::back_inserter(in));
  candidates = std::move(in);
  return count;
}

FinalsResult hold_finals(Trials& trials, ProblemResults& results, const Problem& problem,
                         std::vector<RankedCandidate> candidates,
                         std::vector<RankedCandidate> passed_over, const TuneRequest& request,
                         const OnFinalsStage& tell) {
  return Finals(trials, results, problem, std::move(candidates), std::move(passed_over), request)
      .run(tell);
}

std::optional<FinalsResult> earlier_finals(const TuneRequest& request, const Plan& plan,
                                           std::vector<RankedCandidate> candidates) {
  const auto finals_of = [&](const RankedCandidate& one) {
    return plan.recalled_finals.find(to_string(one.config.config()));
  };
  const auto none = plan.recalled_finals.end();
  const auto best = finals_of(candidates.front());
  if (best == none || !has_all_baselines(request, best->second.baselines)) return std::nullopt;
  for (RankedCandidate& one : candidates) {
    const auto its = finals_of(one);
    const bool is_of_them = its != none && its->second.run == best->second.run;
    if (!is_of_them) one.outcome.ranking.reset();
  }
  sort_by_rank(candidates, request.rule.objective);
  const Outcome& winner = candidates.front().outcome;
  const std::optional<int> rank = rank_by(request.rule.objective, winner);
  const bool is_first = rank && (rank == 1 || request.rule.max_error);
  if (!is_first || !winner.ranking->verified) return std::nullopt;
  FinalsResult result;
  result.candidates = std::move(candidates);
  result.baselines = best->second.baselines;
  result.complete = true;
  return result;
}

}  // namespace gemm_tune
