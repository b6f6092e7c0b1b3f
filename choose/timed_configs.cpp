// SPDX-License-Identifier: Apache-2.0
#include "choose/timed_configs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "choose/expected_time.h"
#include "core/error.h"
#include "core/launch/launch_recipe.h"

namespace gemm_tune {
namespace timed_configs {

// A row of a config: the logarithm of measured over modelled time, and where that was.
struct Correction {
  const TimedConfig* row;
  LaunchProblem tuned;
  double log_ratio;
};

struct Candidate {
  KnownConfig config;
  ModelledConfig modelled;
  std::vector<Correction> corrections;
  double least_correction = 1;  // of all that a problem may have
};

// Those of one device, signature and layout.
struct Group {
  std::map<std::string, Candidate> candidates;  // by the config's text
  double median = 0;                            // of all logarithms
  double learned_median = 0;                    // of those of learned times
  double median_for(const Candidate& candidate) const {
    return candidate.modelled.is_learned() ? learned_median : median;
  }
  std::optional<double> error;  // TimedConfigs::typical_error()
};

using Groups = std::map<std::pair<Signature, Layout>, Group>;

// Compares names of devices that need no copy.
struct ByNameAndSms {
  using is_transparent = void;
  using Key = std::pair<std::string_view, int>;
  bool operator()(const Key& a, const Key& b) const { return a < b; }
};

}  // namespace timed_configs

namespace {

using timed_configs::Candidate;
using timed_configs::Correction;
using timed_configs::Group;
using timed_configs::Groups;

// How much the group's median weighs, where a row at the problem itself weighs 1. Chosen by leaving
// each of five recorded sweeps of one family out (research/sweeps, the fastest 60 to 1,000
// configs of the others): without the median's weight a config that the model takes for slow at one
// problem is taken for fast everywhere (0.64 of the best at 4096x512x1024; 0.95 with it).
constexpr double kMedianWeight = 0.15;

// except: a row of the candidate that does not count.
double log_correction(const Candidate& candidate, const LaunchProblem& problem, double median,
                      const Correction* except = nullptr) {
  double sum = kMedianWeight * median, weights = kMedianWeight;
  double nearest = std::numeric_limits<double>::infinity();  // distance of a row that counts
  for (const Correction& correction : candidate.corrections) {
    if (&correction == except) continue;
    const double distance = shape_distance(correction.tuned, problem);
    const double weight = weight_at(distance);
    sum += weight * correction.log_ratio;
    weights += weight;
    nearest = std::min(nearest, distance);
  }
  return log_correction_at(nearest, sum / weights, median, candidate.modelled.is_learned());
}

void add(const TimedConfig& row, const DeviceSpec& device, Group* group) {
  try {
    auto candidate = group->candidates.find(row.config);
    if (candidate == group->candidates.end()) {
      KnownConfig config = check_config(parse_config(row.config));
      ModelledConfig modelled(config, device.arch);
      candidate = group->candidates
                      .emplace(row.config, Candidate{std::move(config), std::move(modelled), {}, 1})
                      .first;
    }
    const auto modelled = candidate->second.modelled.us(row.problem, device);
    if (!modelled) return;
    const double log_ratio = std::log(row.median_us / *modelled);
    if (!std::isfinite(log_ratio)) return;
    candidate->second.corrections.push_back({&row, launch_problem(row.problem), log_ratio});
  } catch (const UsageError&) {
    return;  // a config that this program does not know
  }
}

std::optional<double> error_of(const Group& group) {
  constexpr std::size_t kLeast = 5;
  std::vector<double> ratios;
  for (const auto& [text, candidate] : group.candidates) {
    if (candidate.corrections.size() < 2) continue;
    for (const Correction& one : candidate.corrections) {
      ratios.push_back(std::exp(
          one.log_ratio - log_correction(candidate, one.tuned, group.median_for(candidate), &one)));
    }
  }
  return ratios.size() < kLeast ? std::nullopt : typical_factor(ratios);
}

Groups groups_of(const std::vector<TimedConfig>& rows, const DeviceKey& device,
                 const DeviceSpec& spec) {
  Groups groups;
  for (const TimedConfig& row : rows) {
    if (row.device == device) {
      add(row, spec, &groups[{row.problem.signature, row.problem.layout}]);
    }
  }
  for (auto& [key, group] : groups) {
    std::vector<double> logs, learned;
    for (const auto& [text, candidate] : group.candidates) {
      for (const Correction& one : candidate.corrections) {
        logs.push_back(one.log_ratio);
        if (candidate.modelled.is_learned()) learned.push_back(one.log_ratio);
      }
    }
    group.median = median_of(std::move(logs)).value_or(0);
    group.learned_median = median_of(std::move(learned)).value_or(0);
    group.error = error_of(group);
    for (auto& [text, candidate] : group.candidates) {
      double least = group.median_for(candidate);
      for (const Correction& one : candidate.corrections) least = std::min(least, one.log_ratio);
      candidate.least_correction = std::exp(least);
    }
  }
  return groups;
}

const Correction& nearest(const Candidate& candidate, const LaunchProblem& problem) {
  return *std::min_element(candidate.corrections.begin(), candidate.corrections.end(),
                           [&](const Correction& a, const Correction& b) {
                             return shape_distance(a.tuned, problem) <
                                    shape_distance(b.tuned, problem);
                           });
}

}  // namespace

struct TimedConfigs::Rows {
  std::vector<TimedConfig> all;
  std::unique_ptr<MadeOnce<TimedRow>[]> whole;  // of each of them
  std::mutex mutex;
  // Guarded by mutex; entries stay.
  std::map<std::pair<std::string, int>, timed_configs::Groups, timed_configs::ByNameAndSms> devices;

  const timed_configs::Groups& of(const DeviceKey& device) {
    static const timed_configs::Groups kNone;
    const std::lock_guard reading(mutex);
    const auto known = devices.find(std::pair<std::string_view, int>(device.name, device.sm_count));
    if (known != devices.end()) return known->second;
    const bool has_rows = std::any_of(all.begin(), all.end(),
                                      [&](const TimedConfig& row) { return row.device == device; });
    const std::optional<DeviceSpec> spec = modelled_device(device);
    if (!has_rows || !spec) return kNone;  // not remembered: names that are asked for have no bound
    return devices.emplace(std::pair(device.name, device.sm_count), groups_of(all, device, *spec))
        .first->second;
  }
};

TimedConfigs::TimedConfigs(std::vector<TimedConfig> rows) : rows_(std::make_unique<Rows>()) {
  rows_->all = std::move(rows);
  rows_->whole = std::make_unique<MadeOnce<TimedRow>[]>(rows_->all.size());
}
TimedConfigs::~TimedConfigs() = default;
TimedConfigs::TimedConfigs(TimedConfigs&&) noexcept = default;
TimedConfigs& TimedConfigs::operator=(TimedConfigs&&) noexcept = default;

const Group* TimedConfigs::group_for(const DeviceKey& device, const Problem& problem) const {
  if (rows_->all.empty()) return nullptr;
  const Groups& groups = rows_->of(device);
  const auto group = groups.find({problem.signature, problem.layout});
  return group == groups.end() ? nullptr : &group->second;
}

const MadeOnce<TimedRow>& TimedConfigs::whole(const TimedConfig& row) const {
  return rows_->whole[static_cast<std::size_t>(&row - rows_->all.data())];
}

std::optional<double> TimedConfigs::typical_error(const DeviceKey& device,
                                                  const Problem& problem) const {
  const Group* const group = group_for(device, problem);
  return group == nullptr ? std::nullopt : group->error;
}

std::vector<TimedCandidate> TimedConfigs::fastest(const DeviceKey& timed_on,
                                                  const DeviceSpec& device, const Problem& problem,
                                                  std::size_t most, double below_us) const {
  const Group* const group = group_for(timed_on, problem);
  if (group == nullptr) return {};
  const LaunchProblem asked = launch_problem(problem);
  const LeastTime::Amount amount = LeastTime::amount(problem, device);
  const auto is_faster = [](const TimedCandidate& a, const TimedCandidate& b) {
    return a.expected_us < b.expected_us;
  };
  std::vector<TimedCandidate> fastest;
  for (const auto& [text, candidate] : group->candidates) {
    if (candidate.corrections.empty()) continue;
    const double limit_us = fastest.size() == most ? fastest.back().expected_us : below_us;
    if (candidate.least_correction * candidate.modelled.least().us_of(amount) > limit_us) continue;
    const double least_us = candidate.modelled.least().us(problem, device);
    if (candidate.least_correction * least_us > limit_us) continue;
    if (refusal(candidate.config.recipe, asked) != Refusal::none) continue;
    const double correction =
        std::exp(log_correction(candidate, asked, group->median_for(candidate)));
    if (correction * least_us > limit_us) continue;
    const auto expected = candidate.modelled.expected_us(correction, problem, device);
    if (!expected || *expected >= limit_us) continue;
    const Correction& at = nearest(candidate, asked);
    const TimedCandidate one{&candidate.config, at.row, shape_distance(at.tuned, asked), *expected};
    fastest.insert(std::upper_bound(fastest.begin(), fastest.end(), one, is_faster), one);
    if (fastest.size() > most) fastest.pop_back();
  }
  return fastest;
}

}  // namespace gemm_tune
