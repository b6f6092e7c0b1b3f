// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/range_pool.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "search/model/static_model.h"
#include "tuner/plan/budget.h"
#include "tuner/plan/candidates.h"
#include "tuner/plan/problem_results.h"

namespace gemm_tune {
namespace {

// Of earlier runs, at each problem.
constexpr std::size_t kMostKnown = 4;

// The fastest kernels of earlier runs.
std::vector<KnownConfig> known_best(const TuneRequest& request, const Problem& problem,
                                    Database& database, const Environment& environment) {
  std::size_t stale = 0;
  std::vector<std::pair<double, std::string>> timed;
  for (const Record& record :
       ProblemResults(database, request, environment, problem).valid_rows(stale)) {
    const std::optional<double> us = record.outcome.deciding_us(request.rule.objective);
    if (record.outcome.disposition == Disposition::ok && us) timed.emplace_back(*us, record.config);
  }
  std::sort(timed.begin(), timed.end());
  std::vector<KnownConfig> best;
  for (const auto& [us, text] : timed) {
    KnownConfig config = check_config(parse_config(text));
    if (best.size() == kMostKnown) break;
    if (!config.family->is_library()) best.push_back(std::move(config));
  }
  return best;
}

// The static model's `most` best, the best first.
std::vector<KnownConfig> modelled_best(const TuneRequest& request, const Problem& problem,
                                       std::size_t most, SpaceMemory& memory) {
  const ConfigList points = candidates_for(request, problem, memory).points;
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::span<const ConfigList::Value> packed = points.values(i);
    const std::vector<int> values(packed.begin(), packed.end());
    order.emplace_back(predict(points.family(i).traits(values), problem, request.device).time_us,
                       i);
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), end, order.end());
  std::vector<KnownConfig> best;
  for (auto one = order.begin(); one != end; ++one) best.push_back(points[one->second]);
  return best;
}

// Each config once, whatever specialisation it comes in, until there are enough.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}

  bool is_full() const { return configs_.size() >= most_; }

  // Of each list the first config, then of each the second, and so on.
  void add_by_turns(const std::vector<std::vector<KnownConfig>>& lists) {
    std::size_t longest = 0;
    for (const auto& list : lists) longest = std::max(longest, list.size());
    for (std::size_t i = 0; i < longest; ++i) {
      for (const auto& list : lists) {
        if (i >= list.size() || is_full()) continue;
        if (texts_.insert(text_for_any_m(list[i])).second) configs_.push_back(list[i]);
      }
    }
  }

  std::vector<KnownConfig> take() { return std::move(configs_); }

 private:
  std::size_t most_;
  std::set<std::string> texts_;
  std::vector<KnownConfig> configs_;
};

}  // namespace

std::string text_for_any_m(const KnownConfig& config) {
  Specialisation any = config.specialisation();
  any.predicated = true;
  const std::vector<int> values = config.family->specialised(config.values, any);
  return to_string(config.family->reject(values) ? config.config() : config.family->config(values));
}

std::vector<KnownConfig> range_pool(const TuneRequest& request,
                                    const std::vector<Problem>& problems, Database& database) {
  if (request.has_list()) return request.only;
  Pool pool(request.budget.value_or(default_budget(request.measure)));
  const Environment environment = environment_of(request);
  std::vector<std::vector<KnownConfig>> known, modelled;
  for (const Problem& problem : problems) {
    known.push_back(known_best(request, problem, database, environment));
  }
  pool.add_by_turns(known);
  if (pool.is_full()) return pool.take();
  const std::size_t most = request.budget.value_or(default_budget(request.measure));
  SpaceMemory memory;
  for (const Problem& problem : problems) {
    modelled.push_back(modelled_best(request, problem, most, memory));
  }
  pool.add_by_turns(modelled);
  return pool.take();
}

}  // namespace gemm_tune
