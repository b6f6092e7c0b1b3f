// SPDX-License-Identifier: Apache-2.0
#include "choose/one_order.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/order_of_sums.h"

namespace gemm_tune {
namespace {

bool is_verified(const Winner& winner) {
  const std::optional<Ranking>& ranking = winner.record.outcome.ranking;
  return ranking && ranking->verified;
}

// What the choice among orders goes by, of the winners of one.
class OrderScore {
 public:
  void add(const Winner& winner, double best_us) {
    const std::int64_t m = winner.record.problem.M;
    if (is_verified(winner)) verified_.insert(m);
    if (winner.record.source == Source::measured) measured_.insert(m);
    all_.insert(m);
    loss_ += std::log(winner.record.outcome.time_us().value() / best_us);
    ++winners_;
  }

  std::size_t verified() const { return verified_.size(); }

  // The greater, the better.
  auto key() const {
    const double loss = loss_ / static_cast<double>(winners_);
    return std::make_tuple(verified_.size(), measured_.size(), all_.size(), -loss);
  }

 private:
  std::set<std::int64_t> verified_, measured_, all_;  // M
  double loss_ = 0;
  std::size_t winners_ = 0;
};

// The least time of any order, by M; measured times before predicted ones.
using LeastTimes = std::map<std::int64_t, std::pair<bool, double>>;

LeastTimes least_times(const std::vector<const Winner*>& winners) {
  LeastTimes least;
  for (const Winner* const winner : winners) {
    const std::pair<bool, double> time{winner->record.source == Source::predicted,
                                       winner->record.outcome.time_us().value()};
    const auto [known, is_new] = least.try_emplace(winner->record.problem.M, time);
    if (!is_new) known->second = std::min(known->second, time);
  }
  return least;
}

}  // namespace

OneOrder::OneOrder(std::vector<Winner> winners) : winners_(std::move(winners)) {
  std::map<Key, std::map<std::string, std::vector<const Winner*>>> by_order;
  std::map<Key, std::vector<const Winner*>> by_key;
  for (const Winner& winner : winners_) {
    const std::optional<std::string> order = order_of_sums(winner.config);
    if (!order) continue;
    const Key key = key_of(winner.record.device, winner.record.problem);
    by_order[key][*order].push_back(&winner);
    by_key[key].push_back(&winner);
  }
  for (auto& [key, orders] : by_order) {
    const LeastTimes least = least_times(by_key[key]);
    Group group;
    std::optional<OrderScore> best;
    for (auto& [order, those] : orders) {  // by text, so that the first of equals stays
      OrderScore score;
      for (const Winner* const winner : those) {
        score.add(*winner, least.at(winner->record.problem.M).second);
      }
      if (best && score.key() <= best->key()) continue;
      best = score;
      group = {order, score.verified(), those};
    }
    groups_.emplace(key, std::move(group));
  }
}

OneOrder::Key OneOrder::key_of(const DeviceKey& device, const Problem& problem) {
  return {device.name, device.sm_count, problem.signature, problem.layout,    problem.epilogue,
          problem.N,   problem.K,       problem.batch,     problem.batch_kind};
}

const OneOrder::Group* OneOrder::group_of(const DeviceKey& device, const Problem& problem) const {
  const auto group = groups_.find(key_of(device, problem));
  return group == groups_.end() ? nullptr : &group->second;
}

const std::string* OneOrder::order_for(const DeviceKey& device, const Problem& problem) const {
  const Group* const group = group_of(device, problem);
  return group == nullptr ? nullptr : &group->order;
}

std::size_t OneOrder::verified_at(const DeviceKey& device, const Problem& problem) const {
  const Group* const group = group_of(device, problem);
  return group == nullptr ? 0 : group->verified;
}

std::optional<OrderedServing> OneOrder::nearest(const DeviceKey& device,
                                                const Problem& problem) const {
  const Group* const group = group_of(device, problem);
  if (group == nullptr) return std::nullopt;
  const LaunchProblem asked = launch_problem(problem);
  std::vector<std::tuple<double, bool, int, std::string, const Winner*>> order;
  for (const Winner* const winner : group->winners) {
    const Record& record = winner->record;
    const LaunchProblem tuned = launch_problem(record.problem);
    order.emplace_back(shape_distance(tuned, asked), record.source == Source::predicted,
                       -static_cast<int>(sameness(tuned, asked)), record.config, winner);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [distance, is_predicted, same, text, winner] : order) {
    std::optional<LegalConfig> legal = legal_in_order(winner->config, group->order, problem);
    if (legal) return OrderedServing{winner, std::move(legal->config), legal->is_specialisation};
  }
  return std::nullopt;
}

std::optional<LegalConfig> legal_in_order(const KnownConfig& config, std::string_view order,
                                          const Problem& problem) {
  bool is_specialisation = false;
  for (const KnownConfig& variant : served_variants(config)) {
    if (order_of_sums(variant) == order && !why_illegal(variant.recipe, problem)) {
      return LegalConfig{variant, is_specialisation};
    }
    is_specialisation = true;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
