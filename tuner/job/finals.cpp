// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/finals.h"

#include <algorithm>
#include <utility>

#include "tuner/measure/sampling.h"
#include "tuner/work/interrupt.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kMinFinalists = 8;
constexpr std::size_t kMaxFinalists = 24;
// Beyond what a timing of its own can be off from one in turn with the others.
constexpr double kReach = 1.03;
constexpr int kMaxRounds = 5;
// Of the finalists, in order, that are ready to win when the finals end.
constexpr std::size_t kTwinsAhead = 4;

// The config's predicated twins that are served, without itself.
std::vector<KnownConfig> twins_of(const KnownConfig& config) {
  std::vector<KnownConfig> twins = served_variants(config);
  twins.erase(twins.begin());
  return twins;
}

}  // namespace

void rank(std::vector<Finisher>& finishers) {
  std::sort(finishers.begin(), finishers.end(), [](const Finisher& a, const Finisher& b) {
    if (a.time_us() != b.time_us()) return a.time_us() < b.time_us();
    return to_string(a.config.config()) < to_string(b.config.config());
  });
}

std::size_t finalists_among(const std::vector<Finisher>& ranked) {
  const auto out_of_reach = std::find_if(ranked.begin(), ranked.end(), [&](const Finisher& f) {
    return f.time_us() > kReach * ranked.front().time_us();
  });
  const auto within = static_cast<std::size_t>(out_of_reach - ranked.begin());
  return std::min(std::clamp(within, kMinFinalists, kMaxFinalists), ranked.size());
}

// One round: the best as they stand, and the baselines. False where interrupted.
bool Finals::time_once(std::vector<Finisher>& finishers) {
  const std::size_t count = finalists_among(finishers);
  std::vector<KnownConfig> configs;
  for (std::size_t i = 0; i < count; ++i) configs.push_back(finishers[i].config);
  for (std::size_t i = 0; i < std::min(count, kTwinsAhead); ++i) {
    trials_.compile_ahead(twins_of(configs[i]));
  }
  std::optional<FinalsReply> reply = trials_.finals(configs, problem_);
  if (!reply) return false;
  baselines_ = std::move(reply->baselines);
  others_ = std::move(reply->others);
  for (std::size_t i = 0; i < finishers.size(); ++i) {
    finishers[i].in_finals = i < count;
    if (i < count) {
      finishers[i].outcome.timing = std::move(reply->finalists[i]);
      finishers[i].retimed = true;
    }
    // Of earlier finals, if not of these: no longer among the best.
    const bool before = finishers[i].outcome.standing != Standing::search;
    finishers[i].outcome.standing = i < count || before ? Standing::finals : Standing::search;
  }
  if (judge_ties_) judge(finishers);
  rank(finishers);
  return true;
}

void Finals::judge(std::vector<Finisher>& finishers) {
  std::vector<std::vector<double>> samples;
  for (const Finisher& finisher : finishers) {
    if (finisher.in_finals) samples.push_back(finisher.outcome.timing->samples_us);
  }
  const std::vector<bool> tied = ties(samples);
  for (std::size_t i = 0; i < tied.size(); ++i) {
    if (tied[i]) finishers[i].outcome.standing = Standing::tied;
  }
}

// Again where the finalists turn out slower than a candidate that was not among them.
bool Finals::time(std::vector<Finisher>& finishers) {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!time_once(finishers)) return false;
    if (finishers.front().in_finals) break;
  }
  return true;
}

// What is wrong with the config's predicated twins, if anything.
std::optional<Outcome> Finals::twins_failure(const KnownConfig& config) {
  for (const KnownConfig& twin : twins_of(config)) {
    std::optional<Outcome> outcome;
    trials_.verify(twin, problem_, [&](Outcome result) { outcome = std::move(result); });
    while (!outcome && !interrupted()) trials_.wait();
    if (!outcome) trials_.abandon();
    if (!outcome || outcome->disposition == Disposition::ok) continue;
    outcome->detail = "its twin " + to_string(twin.config()) + ": " + outcome->detail;
    return outcome;
  }
  return std::nullopt;
}

void Finals::run(std::vector<Finisher>& finishers, const std::function<void(const char*)>& tell) {
  rank(finishers);
  while (!finishers.empty() && !interrupted()) {
    tell("finals");
    if (!time(finishers)) return;
    tell("twins");
    const std::optional<Outcome> failure = twins_failure(finishers.front().config);
    if (interrupted()) return;
    if (!failure) break;
    Finisher loser = std::move(finishers.front());
    finishers.erase(finishers.begin());
    loser.outcome.disposition = failure->disposition;
    loser.outcome.detail = failure->detail;
    loser.outcome.by_environment = failure->by_environment;
    ledger_.store(loser.config, loser.outcome);
    disqualified_.push_back(std::move(loser));
  }
  if (finishers.empty() || interrupted()) return;
  // At once: half of the standings would pass for a decision.
  ledger_.together([&] {
    for (const Baseline& baseline : baselines_) ledger_.store_baseline(baseline);
    for (const Finisher& finisher : finishers) {
      if (finisher.retimed) {
        ledger_.store(finisher.config, finisher.outcome);
      } else if (finisher.outcome.standing != Standing::search) {
        ledger_.set_standing(finisher.config, finisher.outcome.standing);
      }
    }
  });
  complete_ = true;
}

}  // namespace gemm_tune
