// SPDX-License-Identifier: Apache-2.0
// Derives priors from other sweeps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "research/sweep/sweep.h"
#include "search/strategy/transfer.h"

namespace gemm_tune {

namespace {

// Forgets the times of all configs but those that the model expects to be the fastest.
void keep_fastest(Sweep& sweep, std::size_t count) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < sweep.predicted_us.size(); ++i) {
    const double us = sweep.predicted_us[i];
    order.emplace_back(std::isnan(us) ? std::numeric_limits<double>::infinity() : us, i);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = count; i < order.size(); ++i) sweep.time_us[order[i].second].reset();
}

}  // namespace

std::vector<double> transferred_prior(const Sweep& sweep, std::span<const Sweep* const> others,
                                      std::size_t known) {
  const auto require_model = [](const Sweep& one) {
    if (!one.predicted_us.empty()) return;
    throw UsageError("sweep '" + one.name +
                     "' has no times of the static model, which knows our families on GPUs of its "
                     "table only");
  };
  require_model(sweep);
  std::vector<Evidence> evidence;
  for (const Sweep* other : others) {
    require_model(*other);
    if (other->family != sweep.family) continue;  // each family's model errors differ
    Sweep errors = *other;                        // its times become the ratios
    keep_fastest(errors, known);
    for (std::size_t i = 0; i < errors.time_us.size(); ++i) {
      auto& time = errors.time_us[i];
      if (time) time = *time / errors.predicted_us[i];
      if (time && !(std::isfinite(*time) && *time > 0)) time.reset();
    }
    Evidence source = {
        likeness(*sweep.problem, *other->problem) * likeness(*sweep.device, *other->device), {}};
    const std::vector<double> ratios = prior_from(errors, sweep);
    for (std::size_t point = 0; point < ratios.size(); ++point) {
      if (!std::isnan(ratios[point]))
        source.log_ratios.emplace_back(point, std::log(ratios[point]));
    }
    evidence.push_back(std::move(source));
  }
  return transferred_prior(sweep.space, sweep.predicted_us, evidence);
}

std::vector<double> prior_from(const Sweep& other, const Sweep& sweep) {
  std::vector<std::pair<std::size_t, std::size_t>> shared;  // positions of a parameter in both
  const auto& theirs = other.space.params();
  const auto& ours = sweep.space.params();
  for (std::size_t a = 0; a < ours.size(); ++a) {
    for (std::size_t b = 0; b < theirs.size(); ++b) {
      if (ours[a].name == theirs[b].name) shared.emplace_back(a, b);
    }
  }
  std::map<std::vector<std::string>, std::pair<double, int>> sums;  // of logarithms
  std::vector<std::string> values(shared.size());
  for (std::size_t point = 0; point < other.space.size(); ++point) {
    if (!other.time_us[point]) continue;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      const std::size_t param = shared[i].second;
      values[i] = theirs[param].values[other.space.at(point)[param]];
    }
    auto& [sum, count] = sums[values];
    sum += std::log(*other.time_us[point]);
    ++count;
  }
  std::vector<double> prior;
  bool found = false;
  for (std::size_t point = 0; point < sweep.space.size(); ++point) {
    for (std::size_t i = 0; i < shared.size(); ++i) {
      const std::size_t param = shared[i].first;
      values[i] = ours[param].values[sweep.space.at(point)[param]];
    }
    const auto sum = sums.find(values);
    const bool known = !shared.empty() && sum != sums.end();
    prior.push_back(known ? std::exp(sum->second.first / sum->second.second)
                          : std::numeric_limits<double>::quiet_NaN());
    found = found || known;
  }
  if (!found) {
    throw UsageError("the prior '" + other.name + "' has no config in common with '" + sweep.name +
                     "'");
  }
  return prior;
}

}  // namespace gemm_tune
