// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/problem_json.h"

#include <cmath>
#include <utility>

#include "search/model/machine_profile.h"
#include "tuner/report/report.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

nlohmann::json baselines_json(const Outcome& outcome, const std::vector<Baseline>& baselines) {
  nlohmann::json all = nlohmann::json::array();
  for (const Baseline& baseline : baselines) {
    nlohmann::json one = {{"name", to_string(baseline)},
                          {"time_us", baseline.timing.median_us},
                          {"cold_us", baseline.timing.cold_us},
                          {"error", baseline.error},
                          {"error_ratio", nullptr},
                          {"speedup", nullptr},
                          {"cold_speedup", nullptr}};
    if (outcome.timing) {
      one["speedup"] = baseline.timing.median_us / outcome.timing->median_us;
      if (baseline.timing.cold_us && outcome.timing->cold_us) {
        one["cold_speedup"] = *baseline.timing.cold_us / *outcome.timing->cold_us;
      }
    }
    const auto ratio = error_ratio(outcome.error, baseline.error);
    if (ratio && std::isfinite(*ratio)) one["error_ratio"] = *ratio;
    all.push_back(std::move(one));
  }
  return all;
}

nlohmann::json cut_short_json(CutShort cut_short) {
  if (cut_short == CutShort::no) return nullptr;
  return cut_short == CutShort::by_time_limit ? "time" : "interruption";
}

nlohmann::json prior_json(const std::optional<std::vector<PriorSource>>& prior) {
  if (!prior) return nullptr;
  nlohmann::json timings = nlohmann::json::array();
  for (const PriorSource& one : *prior) {
    timings.push_back({{"problem", one.problem}, {"device", nullptr}, {"count", one.count}});
    if (one.device) timings.back()["device"] = *one.device;
  }
  return {{"static_model", true}, {"timings", timings}};
}

nlohmann::json error_limit_json(const std::optional<ErrorLimit>& limit) {
  if (!limit) return nullptr;
  nlohmann::json json = {
      {"ratio", limit->ratio}, {"passed_over", limit->passed_over}, {"least", nullptr}};
  if (limit->least && std::isfinite(*limit->least)) json["least"] = *limit->least;
  return json;
}

nlohmann::json expected_gain_json(const std::optional<ExpectedGain>& gain) {
  if (!gain) return nullptr;
  return {{"tries", gain->tries}, {"gain", gain->gain}};
}

nlohmann::json funnel_json(const Funnel& f) {
  return {{"enumerated", f.enumerated},
          {"rejected_by_rule", f.rejected_by_rule},
          {"left", f.left},
          {"searched", f.searched},
          {"tried", f.tried},
          {"algorithms", f.algorithms},
          {"recalled", f.recalled},
          {"compile_failed", f.compile_failed},
          {"rejected_by_resources", f.rejected_by_resources},
          {"failed_on_gpu", f.failed_on_gpu},
          {"failed_by_environment", f.failed_by_environment},
          {"retried", f.retried},
          {"survived", f.survived},
          {"unfinished", f.unfinished}};
}

nlohmann::json winner_json(const ProblemReport& report) {
  if (!report.winner) return nullptr;
  const TuneWinner& winner = *report.winner;
  nlohmann::json json = time_json(winner.outcome, winner.baselines, texts_of(report.tied));
  json["config"] = to_string(winner.config.config());
  json["resources"] = winner.outcome.resources;
  json["specialisations_verified"] = report.specialisations_verified;
  json["library_version"] = nullptr;
  if (winner.config.family->is_library()) json["library_version"] = winner.library_version;
  return json;
}

nlohmann::json kernel_json(const std::optional<TuneWinner>& kernel) {
  if (!kernel) return nullptr;
  return {{"config", to_string(kernel->config.config())}, {"time_us", kernel->outcome.time_us()}};
}

}  // namespace

nlohmann::json time_json(const Outcome& outcome, const std::vector<Baseline>& baselines,
                         const std::vector<std::string>& tied) {
  nlohmann::json json = {{"time_us", nullptr},    {"interval_us", nullptr}, {"cold_us", nullptr},
                         {"conditions", nullptr}, {"disturbance", ""},      {"tied", tied}};
  json["error"] = outcome.error;
  json["baselines"] = baselines_json(outcome, baselines);
  if (const auto time_us = outcome.time_us()) json["time_us"] = *time_us;
  if (const auto interval = interval_of(outcome)) {
    json["interval_us"] = {interval->low, interval->high};
  }
  if (outcome.timing) {
    json["cold_us"] = outcome.timing->cold_us;
    json["conditions"] = outcome.timing->conditions;
    json["disturbance"] = outcome.timing->disturbance;
  }
  return json;
}

nlohmann::json model_measured_on(const DeviceSpec& device) {
  const auto& measured_on = machine_profile(device.arch).measured_on;
  return measured_on ? nlohmann::json(*measured_on) : nlohmann::json();
}

nlohmann::json problem_json(const ProblemReport& report, const Target& target) {
  nlohmann::json json = {
      {"problem", report.problem},
      {"arch", target.spec.arch},
      {"device", target.spec.name},
      {"sm_count", target.spec.sm_count},
      {"source", to_string(target.measurable ? Source::measured : Source::predicted)},
      {"seconds", report.seconds},
      {"budget", report.budget},
      {"target_met", report.target_met},
      {"settled", report.settled},
      {"cut_short", cut_short_json(report.cut_short)},
      {"expected_gain", expected_gain_json(report.expected_gain)},
      {"funnel", funnel_json(report.funnel)},
      {"prior", prior_json(report.prior)},
      {"model_measured_on", model_measured_on(target.spec)},
      {"kernels_executed_on_arch", target.measurable || unexecuted_kernels(target.spec).empty()},
      {"stale", report.stale},
      {"objective", report.objective},
      {"error_limit", error_limit_json(report.error_limit)},
      {"absent_baselines", report.absent_baselines},
      {"others", report.others},
      {"busy", {{"compile", report.compilers_busy}, {"gpu", report.measurers_busy}}},
      {"occupancy_disagreements", report.occupancy_disagreements},
      {"winner", winner_json(report)},
      {"kernel", kernel_json(report.kernel)}};
  if (!report.failure.empty()) json["failure"] = report.failure;
  if (const std::string why = memory_note(report, target); !why.empty()) {
    json["beyond_memory"] = why;
  }
  if (!target.measurable) json["note"] = kPredictedLabel;
  return json;
}

}  // namespace gemm_tune
