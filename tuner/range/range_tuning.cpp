// SPDX-License-Identifier: Apache-2.0
#include "tuner/range/range_tuning.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

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
  RangeTuning(const TuneRequest& request, double within, Database& database, const RunSearch& run)
      : request_(request),
        environment_(environment_of(request)),
        database_(database),
        run_(run),
        pool_(range_pool(request, request.problems, database)) {
    tuned_.range.pool = pool_.size();
    tuned_.range.within = within;
    tuned_.range.measured = request.measure;
  }

  RangeTuned run() {
    if (pool_.empty() || (request_.measure && !time_pool())) {
      if (pool_.empty()) tuned_.report = run_(request_);  // which says why nothing is left
      return std::move(tuned_);
    }
    times_ = times();
    for (int i = 0; i < kMostSearches; ++i) {
      const std::vector<std::size_t> chosen = fewest_configs(times_, tuned_.range.within);
      if (chosen.empty()) break;  // all have failed, as the last report says
      decide_among(chosen);
      if (tuned_.report.interrupted || !drop_failures(chosen)) break;
    }
    if (tuned_.report.problems.empty()) decide_among_all();
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

  // The finals, or without a GPU the predictions, of these configs of the pool.
  void decide_among(const std::vector<std::size_t>& chosen) {
    TuneRequest few = request_;
    few.only.clear();
    for (const std::size_t one : chosen) few.only.push_back(pool_[one]);
    few.specialises = true;
    few.budget.reset();
    few.time_limit.reset();  // was the pool's
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

  std::string text_at(std::size_t config, const Problem& problem) const {
    const auto special = specialised_for(pool_[config], problem);
    return special ? to_string(special->config()) : "";
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

  // Removes the times of what failed meanwhile; whether there was any.
  bool drop_failures(const std::vector<std::size_t>& chosen) {
    const TimesOfConfigs now = times();
    bool any = false;
    for (const std::size_t one : chosen) {
      for (std::size_t p = 0; p < now[one].size(); ++p) {
        if (now[one][p] || !times_[one][p]) continue;
        times_[one][p].reset();
        any = true;
      }
    }
    return any;
  }

  // The rows of the report: at each M its winner among the kernels.
  void fill_in() {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < pool_.size(); ++i) places.emplace(text_for_any_m(pool_[i]), i);
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
        const auto place = places.find(row.config);
        if (place == places.end() || !times_[place->second][p]) continue;
        row.us = *times_[place->second][p];
        row.of_best = *best[p] / row.us;
      }
      if (!row.config.empty()) {
        const auto known = std::find(range.configs.begin(), range.configs.end(), row.config);
        row.rank = static_cast<std::size_t>(known - range.configs.begin());
        if (known == range.configs.end()) range.configs.push_back(row.config);
      }
      range.rows.push_back(std::move(row));
    }
  }

  const TuneRequest& request_;
  const Environment environment_;
  Database& database_;
  const RunSearch& run_;
  const std::vector<KnownConfig> pool_;
  TimesOfConfigs times_;
  RangeTuned tuned_;
};

}  // namespace

RangeTuned tune_range(const TuneRequest& request, double within, Database& database,
                      const RunSearch& run) {
  return RangeTuning(request, within, database, run).run();
}

}  // namespace gemm_tune
