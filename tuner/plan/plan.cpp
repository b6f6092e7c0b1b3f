// SPDX-License-Identifier: Apache-2.0
#include "tuner/plan/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "core/error.h"
#include "core/in_parallel.h"
#include "core/least_places.h"
#include "core/problem/matrix_bytes.h"
#include "search/model/expected_error.h"
#include "search/model/static_model.h"
#include "search/space/point_index.h"
#include "search/strategy/transfer.h"
#include "tuner/plan/budget.h"
#include "tuner/plan/candidates.h"
#include "tuner/plan/prior_timings.h"

namespace gemm_tune {
namespace {

using Row = std::pair<KnownConfig, Record>;

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Of an H100's 160 timings at each of eight problems, the prior alone chose 16 tries for an H200
// whose best ended at 0.994 of a full search's: a surrogate smooths the order of what was timed.
// The best of twelve reaches .989 of the optimum where other problems were searched, of eight .981,
// of 24 .990 (likely_fastest()).
constexpr std::size_t kMostLeaders = 12;
// Where a prior is corrected by what was timed elsewhere, it can rank the best configs low: so many
// tiles that the static model alone expects to be fastest are tried, too. At 22 problems the best
// of its first four picks reached .95 of the best, the first .93
// (docs/notes/search/static_model.md).
constexpr std::size_t kTilesByModel = 4;
constexpr std::int64_t kMostOfALayer = 2048;  // rows

// Why the problem cannot be measured on a GPU with that much memory; nullopt if it can.
std::optional<std::string> too_large_to_measure(const Problem& problem, double memory_bytes) {
  // A, B and C, each twice for two sets of operands, and two fp64 matrices of C's size for the
  // check.
  const double reference = 2 * bytes_of_matrix(kReferenceType, problem.M, problem.N);
  const double needed = static_cast<double>(problem.batch) *
                        (2 * (operand_bytes(problem) + reference) + result_bytes(problem));
  if (needed <= memory_bytes) return std::nullopt;
  return fmt::format(
      "{} needs {:.0f} GiB of GPU memory, including the reference for the check, and the GPU has "
      "{:.0f}: choose a smaller size",
      to_string(problem), needed / kGiB, memory_bytes / kGiB);
}

// Rejected candidates are not retried: a rule would reject the same config again.
bool has_failed(const Outcome& outcome) {
  return outcome.disposition != Disposition::ok && outcome.disposition != Disposition::rejected;
}

// Imported rows may have none.
bool lacks_error(const Outcome& outcome) { return outcome.timing && !outcome.error; }

// Of rows timed by hot operands alone: up to which hot time one could have the best cold time.
// nullopt if there is none, because cold operands decide nothing, or cannot be had: finals always
// time with them where they can.
std::optional<double> could_be_best_cold(const TuneRequest& request, const std::vector<Row>& rows) {
  if (request.rule.objective != Objective::cold) return std::nullopt;
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [config, record] : rows) {
    const std::optional<Timing>& timing = record.outcome.timing;
    if (record.outcome.disposition != Disposition::ok || !timing) continue;
    if (timing->cold_us) {
      best = std::min(best, *timing->cold_us);
    } else if (record.outcome.ranking) {
      return std::nullopt;
    }
  }
  return best;
}

bool lacks_cold_time(const Outcome& outcome, const std::optional<double>& could_be_best) {
  return could_be_best && outcome.disposition == Disposition::ok && outcome.timing &&
         !outcome.timing->cold_us && outcome.timing->median_us <= *could_be_best;
}

std::vector<Row> rows_that_hold(const ProblemResults& results, std::size_t& stale) {
  std::vector<Row> rows;
  for (Record& record : results.valid_rows(stale)) {
    rows.emplace_back(check_config(parse_config(record.config)), std::move(record));
  }
  return rows;
}

// Adds the configs with results of earlier runs that this run's sample of the space lacks.
void add_to_sample(Plan& plan, const TuneRequest& request, const std::vector<Row>& rows) {
  const PointIndex index(plan.points);
  std::vector<KnownConfig> missing;
  for (const auto& [config, record] : rows) {
    if (!index.find(*config.family, config.values) && !reject(request, plan.problem, config)) {
      missing.push_back(config);
    }
  }
  for (const KnownConfig& config : missing) plan.points.add(*config.family, config.values);
  plan.funnel.searched = plan.points.size();
}

// Moves the rows of libraries' algorithms into the plan, where they are tried at all. Those that
// failed or lack something may be tried again.
void recall_algorithms(Plan& plan, const TuneRequest& request, const ProblemResults& results,
                       std::vector<Row>& rows) {
  std::vector<Row> kernels;
  for (Row& row : rows) {
    auto& [config, record] = row;
    if (!config.family->is_library()) {
      kernels.push_back(std::move(row));
      continue;
    }
    const bool lacks = (request.retry_failed && has_failed(record.outcome)) ||
                       (request.rule.max_error && lacks_error(record.outcome));
    if (!request.libraries.contains(config.family->name) || lacks) continue;
    if (record.outcome.ranking) {
      plan.recalled_finals.emplace(record.config,
                                   RecalledFinals{record.run.uuid, results.baselines(record)});
    }
    plan.recalled_algorithms.emplace_back(config, std::move(record.outcome));
  }
  rows = std::move(kernels);
}

// Takes over the valid results of earlier runs.
void recall(Plan& plan, const TuneRequest& request, const ProblemResults& results) {
  std::vector<Row> rows = rows_that_hold(results, plan.stale);
  recall_algorithms(plan, request, results, rows);
  if (rows.empty()) return;
  if (plan.funnel.searched < plan.funnel.left) add_to_sample(plan, request, rows);
  const PointIndex index(plan.points);
  std::set<std::size_t> seen, retries;
  const std::optional<double> cold = could_be_best_cold(request, rows);
  for (auto& [config, record] : rows) {
    const std::optional<std::size_t> point = index.find(*config.family, config.values);
    if (!point || !seen.insert(*point).second) continue;
    if ((request.retry_failed && has_failed(record.outcome)) ||
        (request.rule.max_error && lacks_error(record.outcome)) ||
        lacks_cold_time(record.outcome, cold)) {
      retries.insert(*point);
      continue;
    }
    if (record.outcome.ranking) {
      plan.recalled_finals.emplace(record.config,
                                   RecalledFinals{record.run.uuid, results.baselines(record)});
    }
    plan.recalled.emplace_back(*point, std::move(record.outcome));
  }
  plan.retries.assign(retries.begin(), retries.end());
}

std::string strategy_name(const TuneRequest& request, std::size_t points) {
  if (!request.strategy.empty()) return request.strategy;
  const bool all = request.budget >= points && !request.target;
  return all || request.has_list() ? "exhaustive" : "model";
}

Traits traits_of(const Plan& plan, std::size_t point) {
  const std::span<const ConfigList::Value> packed = plan.points.values(point);
  const std::vector<int> values(packed.begin(), packed.end());
  return plan.points.family(point).traits(values);
}

// The static model's times of all points.
std::vector<double> model_times(const Plan& plan, const DeviceSpec& device, std::size_t threads) {
  constexpr std::size_t kChunk = 4096;
  std::vector<double> times(plan.points.size());
  in_parallel(threads, (times.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    const std::size_t end = std::min((chunk + 1) * kChunk, times.size());
    for (std::size_t point = chunk * kChunk; point < end; ++point) {
      times[point] = predict(traits_of(plan, point), plan.problem, device).time_us;
    }
  });
  return times;
}

// The static model's fastest point of each of so many CTA tiles, the fastest tile first.
std::vector<std::size_t> fastest_of_tiles(const std::vector<double>& model_us, const Plan& plan,
                                          std::size_t tiles) {
  constexpr std::size_t kMostLookedAt = 1024;
  std::set<std::array<int, 3>> seen;
  std::vector<std::size_t> fastest;
  for (const std::size_t point : least_places(model_us, kMostLookedAt)) {
    if (fastest.size() == tiles || !std::isfinite(model_us[point])) break;
    const Traits traits = traits_of(plan, point);
    if (seen.insert({traits.tile_m, traits.tile_n, traits.tile_k}).second) {
      fastest.push_back(point);
    }
  }
  return fastest;
}

// Of the points in order, the first so many; points that an earlier run has tried are left out: a
// repeated search does not go down the list.
std::vector<std::size_t> to_lead(std::vector<std::size_t> points, const Plan& plan,
                                 std::size_t most) {
  points.resize(std::min(points.size(), most));
  std::set<std::size_t> taken(plan.retries.begin(), plan.retries.end());
  for (const auto& [point, outcome] : plan.recalled) taken.insert(point);
  std::erase_if(points, [&](std::size_t point) { return !taken.insert(point).second; });
  return points;
}

// Sets the prior: the static model's times, corrected by timings of other problems and devices. And
// the leaders: at most half of what the budget leaves.
void make_prior(Plan& plan, const TuneRequest& request, const Elsewhere& elsewhere) {
  const std::size_t threads = planning_threads(request);
  plan.prior_us = model_times(plan, request.device, threads);
  plan.prior_sources.emplace();
  // Where nothing is measured, the results will be the model's own times.
  if (!request.measure || (elsewhere.timed.empty() && elsewhere.leaders.empty())) return;
  const PointIndex index(plan.points);
  std::vector<Evidence> evidence;
  for (const PriorTimings& one :
       prior_timings(elsewhere.timed, request.device, plan.problem, index)) {
    const bool is_own = one.device == device_key(request.device);
    plan.prior_sources->push_back({is_own ? std::nullopt : std::optional(one.device.name),
                                   one.problem, one.evidence.log_ratios.size()});
    evidence.push_back(one.evidence);
  }
  std::vector<std::size_t> leaders;
  for (const KnownConfig& config : elsewhere.leaders) {
    if (const auto point = index.find(*config.family, config.values)) leaders.push_back(*point);
  }
  if (!evidence.empty()) {
    const std::vector<std::size_t> by_model = fastest_of_tiles(plan.prior_us, plan, kTilesByModel);
    leaders.insert(leaders.end(), by_model.begin(), by_model.end());
  }
  const std::size_t settled = plan.recalled.size() + plan.retries.size();
  if (plan.budget > settled) {
    plan.leaders = to_lead(std::move(leaders), plan, (plan.budget - settled) / 2);
  }
  plan.prior_us = transferred_prior(*plan.space, std::move(plan.prior_us), evidence, threads);
}

std::size_t asked_budget(const TuneRequest& request, std::size_t points) {
  if (request.budget) return *request.budget;
  return request.has_list() ? points : default_budget(request.measure);
}

// The candidates, their results of earlier runs and the budget.
Plan plan_candidates(const TuneRequest& request, const Problem& problem,
                     const ProblemResults& results, SpaceMemory& memory) {
  Plan plan;
  plan.problem = problem;
  Candidates candidates = candidates_for(request, problem, memory);
  plan.points = std::move(candidates.points);
  plan.funnel = std::move(candidates.funnel);
  plan.unfit = why_too_large(request, problem).value_or("");
  if (!plan.unfit.empty() || plan.points.empty()) return plan;
  recall(plan, request, results);
  plan.budget = std::min(plan.points.size(), std::max(asked_budget(request, plan.points.size()),
                                                      plan.recalled.size() + plan.retries.size()));
  return plan;
}

// Whether a search by the model is to be measured, which is then guided by what was timed
// elsewhere.
bool is_guided(const TuneRequest& request) {
  return request.measure && !request.has_list() &&
         (request.strategy.empty() || request.strategy == "model");
}

}  // namespace

std::optional<std::string> why_too_large(const TuneRequest& request, const Problem& problem) {
  if (!request.measure) return std::nullopt;
  return too_large_to_measure(problem, static_cast<double>(request.device.memory_bytes));
}

std::vector<TimedConfig> winners_below(const TuneRequest& request) {
  if (!is_guided(request)) return {};
  const KernelRevisions revisions = revisions_of(request);
  std::vector<TimedConfig> all;
  for (const std::filesystem::path& layer : request.layers) {
    try {
      for (TimedConfig& one : Database(layer, Database::Mode::immutable)
                                  .fastest_configs(request.device.arch, revisions, kMostOfALayer)) {
        check_config(parse_config(one.config));  // throws where this program does not know it
        all.push_back(std::move(one));
      }
    } catch (const Error&) {
      continue;  // its owner may be another one, and what it holds are hints only
    }
  }
  return all;
}

Elsewhere timed_elsewhere(const TuneRequest& request, const Problem& problem,
                          const ProblemResults& results, std::span<const TimedConfig> below) {
  if (!is_guided(request) || why_too_large(request, problem)) return {};
  Elsewhere elsewhere{results.timed_elsewhere(), {}, false};
  std::vector<TimedConfig> rows = elsewhere.timed;
  rows.insert(rows.end(), below.begin(), below.end());
  const auto is_candidate = [&](const KnownConfig& config) {
    const auto& asked = request.families;
    return (asked.empty() || std::find(asked.begin(), asked.end(), config.family) != asked.end()) &&
           !reject(request, problem, config);
  };
  elsewhere.leaders = likely_fastest(rows, request.device, problem, kMostLeaders, is_candidate);
  elsewhere.is_near_known =
      elsewhere.leaders.size() == kMostLeaders &&
      std::any_of(rows.begin(), rows.end(), [&](const TimedConfig& row) {
        return row.device == device_key(request.device) && is_near(row.problem, problem);
      });
  return elsewhere;
}

Plan plan_problem(const TuneRequest& request, const Problem& problem, const ProblemResults& results,
                  SpaceMemory& memory, const Elsewhere& elsewhere) {
  Plan plan = plan_candidates(request, problem, results, memory);
  if (!plan.unfit.empty() || plan.points.empty()) return plan;
  plan.space = search_space(plan.points);
  plan.strategy = strategy_name(request, plan.points.size());
  plan.ends_itself = request.measure && !request.budget && !request.has_list() && !request.target;
  plan.is_near_known = elsewhere.is_near_known;
  if (plan.strategy == "model") make_prior(plan, request, elsewhere);
  return plan;
}

std::string beyond_memory(const Problem& problem, const DeviceSpec& device) {
  const double needed = matrix_bytes(problem);
  const auto has = static_cast<double>(device.memory_bytes);
  if (has == 0 || needed <= has) return "";
  return fmt::format("its matrices need {:.0f} GiB and {} has {:.0f}: it cannot run there",
                     needed / kGiB, device.name, has / kGiB);
}

double within_error(double us, double error, double most_error) {
  if (error <= most_error) return us;
  const double excess = error / most_error;
  return us * excess * excess;
}

void limit_errors(Plan& plan, double most_error, const DeviceSpec& device) {
  plan.most_error = most_error;
  if (plan.prior_us.empty() || uses_tensor_cores(plan.problem.signature)) return;
  const auto error_of = [&](std::size_t point) {
    return expected_error(traits_of(plan, point), plan.problem, device);
  };
  for (std::size_t point = 0; point < plan.points.size(); ++point) {
    plan.prior_us[point] = within_error(plan.prior_us[point], error_of(point), most_error);
  }
  std::erase_if(plan.leaders, [&](std::size_t point) { return error_of(point) > most_error; });
}

PlannedSearch plan_search(const TuneRequest& request, const Problem& problem, Database& database,
                          SpaceMemory& memory, std::recursive_mutex* turn) {
  const Environment environment = environment_of(request);
  Plan plan = plan_candidates(
      request, problem, ProblemResults(database, request, environment, problem, turn), memory);
  PlannedSearch planned{
      problem, std::move(plan.funnel), plan.budget, plan.recalled.size(), plan.retries.size(), {},
      {}};
  std::vector<bool> is_taken(plan.points.size(), false);
  for (const auto& [point, outcome] : plan.recalled) is_taken[point] = true;
  for (const std::size_t point : plan.retries) {
    is_taken[point] = true;
    planned.untried.push_back(point);
  }
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    if (!is_taken[i]) planned.untried.push_back(i);
  }
  planned.points = std::move(plan.points);
  return planned;
}

}  // namespace gemm_tune
