// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/range_tuning.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.h"
#include "kernel_templates/registry/order_of_sums.h"
#include "search/model/static_model.h"
#include "tuner/plan/candidates.h"
#include "tuner/plan/problem_results.h"
#include "tuner/range/fewest_configs.h"
#include "tuner/range/range_pool.h"

namespace gemm_tune {
namespace {

// A config of the pool that fails once it is compiled, or in finals, costs a further search.
constexpr int kMostSearches = 32;

class RangeTuning {
 public:
  RangeTuning(const TuneRequest& request, double within, Database& database, RunSearch run)
      : request_(request),
        environment_(environment_of(request)),
        database_(database),
        run_(std::move(run)),
        pool_(range_pool(request, request.problems, database)) {
    for (const KnownConfig& config : pool_) orders_.push_back(order_of_sums(config).value_or(""));
    tuned_.range.pool = pool_.size();
    tuned_.range.within = within;
    tuned_.range.measured = request.measure;
  }

  std::vector<KnownConfig> first() {
    if (pool_.empty()) return {};
    const std::optional<std::string> settled = settled_order();
    if (request_.measure) return pool_;
    times_ = times();
    if (request_.in_one_order) keep_one_order(settled);
    return among_pool(fewest_configs(times_, tuned_.range.within));
  }

  RangeTuned run() {
    if (pool_.empty()) {
      tuned_.report = run_(request_);  // which says why nothing is left, or is interrupted at once
      return std::move(tuned_);
    }
    const std::optional<std::string> settled = settled_order();
    if (request_.measure && !time_pool()) return std::move(tuned_);
    times_ = times();
    if (request_.in_one_order) keep_one_order(settled);
    for (int i = 0; i < kMostSearches; ++i) {
      std::vector<std::size_t> chosen = fewest_configs(times_, tuned_.range.within);
      if (chosen.empty()) break;  // all have failed, as the last report says
      add_fallbacks(chosen);
      decide_among(chosen);
      const bool any_failed = renew_times(chosen);
      if (tuned_.report.interrupted || (!any_failed && !add_fallbacks(chosen))) break;
    }
    if (tuned_.report.problems.empty()) decide_among_all();
    if (!request_.measure && tuned_.report.out_of_time) reach_the_rest();
    fill_in();
    return std::move(tuned_);
  }

 private:
  // Whether the search came to its end.
  bool time_pool() {
    TuneRequest all = request_;
    all.only = pool_;
    all.specialises = true;
    all.holds_finals = false;
    all.budget.reset();
    all.libraries.clear();  // candidates of the finals
    tuned_.report = run_(all);
    return !tuned_.report.interrupted;
  }

  // That of look-ups, where the pool's times do not decide. Throws where the pool has none of an
  // order that is to stay: before it is timed.
  std::optional<std::string> settled_order() const {
    if (!request_.in_one_order) return std::nullopt;
    const OneOrder stored = stored_orders(request_, database_);
    const DeviceKey device = device_key(request_.device);
    const std::string* const held = stored.order_for(device, request_.problems.front());
    if (held == nullptr) return std::nullopt;
    const std::size_t verified = stored.verified_at(device, request_.problems.front());
    const bool is_verified = verified >= request_.problems.size();
    // Anew, unless look-ups would keep it: they take the order that is verified at the most M.
    const bool may_change = request_.finals_again ? verified <= request_.problems.size()
                                                  : !is_verified && request_.measure;
    const bool is_tried = std::find(orders_.begin(), orders_.end(), *held) != orders_.end();
    if (is_verified && !is_tried) {
      throw NothingFound("finals of earlier runs have verified the order of sums " + *held +
                         " for these sizes, and no config of this run has it: leave --config out");
    }
    return is_tried && !may_change ? std::optional(*held) : std::nullopt;
  }

  // Removes the times of all other orders.
  void keep_one_order(const std::optional<std::string>& settled) {
    std::string& order = tuned_.range.order;
    order = settled ? *settled : least_loss();
    if (order.empty()) throw NothingFound(kNoOrder);
    best_of_others_ = best_of_others();
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (!is_of_the_order(i)) times_[i].assign(request_.problems.size(), std::nullopt);
    }
  }

  // At each M the least time of a kernel that adds up in another order than the range's, of the
  // pool and of all that earlier runs tried.
  std::vector<std::optional<double>> best_of_others() const {
    TimesOfConfigs others;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (orders_[i] != tuned_.range.order) others.push_back(times_[i]);
    }
    std::vector<std::optional<double>>& stored = others.emplace_back();
    for (const Problem& problem : request_.problems) {
      std::optional<double> least;
      for (const auto& [text, outcome] : rows_of(problem)) {
        const KnownConfig config = check_config(parse_config(text));
        const auto us = outcome.deciding_us(request_.rule.objective);
        if (config.family->is_library() || outcome.disposition != Disposition::ok || !us) continue;
        if (!legal_for(config, problem)) continue;
        if (order_of_sums(config) != tuned_.range.order) least = std::min(least.value_or(*us), *us);
      }
      stored.push_back(least);
    }
    return best_of_each(others);
  }

  // The order with a time at the most M, and then the least loss on the average.
  std::string least_loss() const {
    const std::vector<std::optional<double>> best = best_of_each(times_);
    std::map<std::string, TimesOfConfigs> by_order;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (!orders_[i].empty()) by_order[orders_[i]].push_back(times_[i]);
    }
    std::string found;
    std::pair<std::size_t, double> least{best.size() + 1, 0};  // M without a time, loss
    for (const auto& [order, times] : by_order) {
      std::pair<std::size_t, double> its{0, 0};
      const std::vector<std::optional<double>> its_best = best_of_each(times);
      for (std::size_t p = 0; p < best.size(); ++p) {
        if (its_best[p]) {
          its.second += std::log(*its_best[p] / *best[p]);
        } else {
          ++its.first;
        }
      }
      if (its < least) {
        least = its;
        found = order;
      }
    }
    return found;
  }

  // For an M at which no config has a time, as where the pool's time was used up, and none of these
  // may have one: the first of the pool that may. Returns whether it added any.
  bool add_fallbacks(std::vector<std::size_t>& chosen) const {
    const std::size_t before = chosen.size();
    const std::vector<std::optional<double>> best = best_of_each(times_);
    for (std::size_t p = 0; p < best.size(); ++p) {
      if (best[p]) continue;
      const Problem& problem = request_.problems[p];
      const std::map<std::string, Outcome> rows = rows_of(problem);
      const auto may_serve = [&](std::size_t config) {
        const std::string text = text_at(config, problem);
        return is_of_the_order(config) && !text.empty() && !rows.contains(text);
      };
      if (std::any_of(chosen.begin(), chosen.end(), may_serve)) continue;
      if (const auto first = first_of_pool(may_serve)) chosen.push_back(*first);
    }
    return chosen.size() > before;
  }

  template <class Fits>
  std::optional<std::size_t> first_of_pool(Fits fits) const {
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (fits(i)) return i;
    }
    return std::nullopt;
  }

  bool is_of_the_order(std::size_t config) const {
    return tuned_.range.order.empty() || orders_[config] == tuned_.range.order;
  }

  std::vector<KnownConfig> among_pool(const std::vector<std::size_t>& chosen) const {
    std::vector<KnownConfig> configs;
    for (const std::size_t one : chosen) configs.push_back(pool_[one]);
    return configs;
  }

  // The finals, or without a GPU the predictions, of these configs of the pool.
  void decide_among(const std::vector<std::size_t>& chosen) {
    TuneRequest few = request_;
    few.only = among_pool(chosen);
    few.specialises = true;
    few.budget.reset();
    if (request_.measure) few.time_limit.reset();  // was the pool's
    const bool out_of_time = tuned_.report.out_of_time;
    tuned_.report = run_(few);
    tuned_.report.out_of_time = tuned_.report.out_of_time || out_of_time;
  }

  // Of a pool that failed in earlier runs: the report says how.
  void decide_among_all() {
    std::vector<std::size_t> all(pool_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    decide_among(all);
  }

  // Where the time was used up at some M of those that nothing is timed at: the others by the first
  // configs of the pool that serve them, whose kernels are compiled once for many M.
  void reach_the_rest() {
    std::vector<ProblemReport>& reached = tuned_.report.problems;
    std::erase_if(reached, [](const ProblemReport& one) { return !one.winner; });
    if (reached.empty() || tuned_.report.interrupted) return;
    TuneRequest rest = request_;
    std::erase_if(rest.problems, [&](const Problem& problem) {
      return std::any_of(reached.begin(), reached.end(),
                         [&](const ProblemReport& one) { return one.problem == problem; });
    });
    std::set<std::size_t> chosen;
    for (const Problem& problem : rest.problems) {
      const auto first = first_of_pool([&](std::size_t config) {
        return is_of_the_order(config) && !text_at(config, problem).empty();
      });
      if (first) chosen.insert(*first);
    }
    if (chosen.empty()) return;
    rest.only = among_pool({chosen.begin(), chosen.end()});
    rest.specialises = true;
    rest.budget.reset();
    rest.time_limit.reset();
    TuneReport report = run_(rest);
    tuned_.report.interrupted = report.interrupted;
    std::move(report.problems.begin(), report.problems.end(), std::back_inserter(reached));
    std::sort(reached.begin(), reached.end(),
              [](const auto& a, const auto& b) { return a.problem.M < b.problem.M; });
  }

  std::string text_at(std::size_t config, const Problem& problem) const {
    const auto special = specialised_for(pool_[config], problem);
    return special ? to_string(special->config()) : "";
  }

  // Of the config of the pool that is tried as this one at the problem.
  std::optional<std::size_t> place_of(const KnownConfig& config, const Problem& problem) const {
    const std::string text = to_string(config.config());
    return first_of_pool([&](std::size_t i) { return text_at(i, problem) == text; });
  }

  // The rows of a problem that hold, by config.
  std::map<std::string, Outcome> rows_of(const Problem& problem) const {
    std::size_t stale = 0;
    std::map<std::string, Outcome> rows;
    for (Record& record :
         ProblemResults(database_, request_, environment_, problem).valid_rows(stale)) {
      rows.emplace(record.config, std::move(record.outcome));
    }
    return rows;
  }

  std::optional<double> predicted_us(std::size_t config, const Problem& problem) const {
    const auto special = specialised_for(pool_[config], problem);
    if (!special) return std::nullopt;
    return predict(special->traits, problem, request_.device).time_us;
  }

  // Of the pool at each M.
  TimesOfConfigs times() const {
    TimesOfConfigs times(pool_.size());
    for (const Problem& problem : request_.problems) {
      const std::map<std::string, Outcome> rows = rows_of(problem);
      for (std::size_t i = 0; i < pool_.size(); ++i) {
        const auto row = rows.find(text_at(i, problem));
        if (row == rows.end()) {
          times[i].push_back(request_.measure ? std::nullopt : predicted_us(i, problem));
        } else {
          times[i].push_back(row->second.disposition == Disposition::ok
                                 ? row->second.deciding_us(request_.rule.objective)
                                 : std::nullopt);
        }
      }
    }
    return times;
  }

  // Takes up what the finals of these found; whether a time is gone, since its kernel failed there.
  bool renew_times(const std::vector<std::size_t>& chosen) {
    TimesOfConfigs now = times();
    bool any_failed = false;
    for (const std::size_t one : chosen) {
      for (std::size_t p = 0; p < now[one].size(); ++p) {
        any_failed = any_failed || (times_[one][p] && !now[one][p]);
      }
      times_[one] = std::move(now[one]);
    }
    return any_failed;
  }

  // The rows of the report: at each M its winner among the kernels.
  void fill_in() {
    const std::vector<std::optional<double>> best = best_of_each(times_);
    RangeReport& range = tuned_.range;
    for (std::size_t p = 0; p < request_.problems.size(); ++p) {
      RangeRow row{request_.problems[p], "", 0, 0, 0};
      for (const ProblemReport& report : tuned_.report.problems) {
        const std::optional<TuneWinner>& winner = report.kernel ? report.kernel : report.winner;
        if (report.problem != row.problem || !winner || winner->config.family->is_library()) {
          continue;
        }
        row.config = text_for_any_m(winner->config);
        const std::optional<std::size_t> place = place_of(winner->config, row.problem);
        if (!place || !times_[*place][p]) continue;
        row.config = text_for_any_m(pool_[*place]);
        row.us = *times_[*place][p];
        row.of_best = *best[p] / row.us;
      }
      if (!row.config.empty()) {
        const auto known = std::find(range.configs.begin(), range.configs.end(), row.config);
        row.rank = static_cast<std::size_t>(known - range.configs.begin());
        if (known == range.configs.end()) range.configs.push_back(row.config);
      }
      range.rows.push_back(std::move(row));
    }
    if (range.order.empty()) return;
    range.order_cost = order_cost(best);
    // Times of finals may differ from those that the order was chosen by.
    const OneOrder stored = stored_orders(request_, database_);
    const std::string* const served =
        stored.order_for(device_key(request_.device), request_.problems.front());
    if (served != nullptr && *served != range.order) range.order_of_calls = *served;
  }

  // its_best: of the range's order, at each M.
  std::optional<OrderCost> order_cost(const std::vector<std::optional<double>>& its_best) const {
    OrderCost cost;
    std::size_t compared = 0;
    double sum = 0;
    for (std::size_t p = 0; p < its_best.size(); ++p) {
      if (!its_best[p] || !best_of_others_[p]) continue;
      const double ratio = std::max(1.0, *its_best[p] / *best_of_others_[p]);
      if (ratio > cost.most || compared == 0) {
        cost.most = ratio;
        cost.at_m = request_.problems[p].M;
      }
      sum += std::log(ratio);
      ++compared;
    }
    if (compared == 0) return std::nullopt;
    cost.mean = std::exp(sum / static_cast<double>(compared));
    return cost;
  }

  const TuneRequest& request_;
  const Environment environment_;
  Database& database_;
  const RunSearch run_;
  const std::vector<KnownConfig> pool_;
  std::vector<std::string> orders_;  // of sums, of the pool; empty for none that is known
  TimesOfConfigs times_;
  std::vector<std::optional<double>> best_of_others_;  // where all is in one order
  RangeTuned tuned_;
};

}  // namespace

std::chrono::seconds time_of_range(std::chrono::seconds limit, RunningClock::duration passed,
                                   std::size_t left) {
  if (passed >= limit) return std::chrono::seconds(0);
  return std::chrono::ceil<std::chrono::seconds>((limit - passed) / static_cast<int>(left));
}

RangeTuned tune_range(const TuneRequest& request, double within, Database& database,
                      const RunSearch& run) {
  return RangeTuning(request, within, database, run).run();
}

std::vector<KnownConfig> first_of_range(const TuneRequest& request, double within,
                                        Database& database) {
  return RangeTuning(request, within, database, nullptr).first();
}

}  // namespace gemm_tune
