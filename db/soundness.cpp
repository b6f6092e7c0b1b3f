// SPDX-License-Identifier: Apache-2.0
#include "db/soundness.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/printable.h"

namespace gemm_tune {
namespace {

using Fault = std::optional<std::string>;

Fault text_fault(const std::string& text, const std::string& what, std::size_t longest) {
  if (text.size() > longest) {
    return "its " + what + " is longer than " + std::to_string(longest) + " bytes";
  }
  if (!is_utf8(text)) return "its " + what + " is malformed: not UTF-8";
  return std::nullopt;
}

Fault name_fault(const std::string& text, const std::string& what) {
  if (text.empty()) return "its " + what + " is empty";
  return text_fault(text, what, kLongestName);
}

Fault time_fault(double us, const std::string& what) {
  if (std::isfinite(us) && us > 0) return std::nullopt;
  return "its " + what + " is not a time above 0";
}

Fault error_fault(const std::optional<double>& error) {
  if (!error || (std::isfinite(*error) && *error >= 0)) return std::nullopt;
  return "its error is not a number from 0 on";
}

Fault count_fault(int count, int least, const std::string& what) {
  if (count >= least) return std::nullopt;
  return "its " + what + " is below " + std::to_string(least);
}

// The first fault in the list that is present.
Fault first_of(std::initializer_list<Fault> faults) {
  for (const Fault& fault : faults) {
    if (fault) return fault;
  }
  return std::nullopt;
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

// As the schema's constraint demands.
bool is_arch(const std::string& arch) {
  constexpr std::size_t kLongest = 16;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return arch.starts_with("sm_") && arch.size() > 3 && arch.size() <= kLongest && digit(arch[3]) &&
         std::all_of(arch.begin(), arch.end(),
                     [&](char c) { return digit(c) || (c >= 'a' && c <= 'z') || c == '_'; });
}

Fault config_fault(const std::string& config) {
  if (const Fault fault = name_fault(config, "config")) return fault;
  try {
    parse_config(config);
    return std::nullopt;
  } catch (const UsageError& error) {
    return "its config is malformed: " + std::string(error.what());
  }
}

Fault resources_fault(const Resources& resources) {
  return first_of({count_fault(resources.registers, 0, "registers"),
                   count_fault(resources.spill_bytes, 0, "spill_bytes"),
                   count_fault(resources.stack_bytes, 0, "stack_bytes"),
                   count_fault(resources.smem_bytes, 0, "smem_bytes"),
                   count_fault(resources.ctas_per_sm, 0, "ctas_per_sm")});
}

Fault outcome_fault(const Outcome& outcome, Source source) {
  const bool is_ok = outcome.disposition == Disposition::ok;
  if (!is_ok && outcome.detail.empty()) return "it failed without a reason";
  const bool has_time =
      source == Source::measured ? outcome.timing.has_value() : outcome.predicted_us.has_value();
  if (is_ok && !has_time) return "it is ok but lacks its time";
  if (source == Source::predicted && outcome.timing) return "it is predicted but has a timing";
  if (const Fault fault = text_fault(outcome.detail, "reason", kLongestDetail)) return fault;
  return first_of(
      {outcome.resources ? resources_fault(*outcome.resources) : std::nullopt,
       outcome.timing ? why_unsound(*outcome.timing) : std::nullopt,
       outcome.predicted_us ? time_fault(*outcome.predicted_us, "predicted_us") : std::nullopt,
       error_fault(outcome.error)});
}

}  // namespace

std::optional<std::string> why_unsound(const DeviceKey& device) {
  constexpr int kMostSms = 65536;
  if (!is_arch(device.arch)) return "its arch is not one as in sm_86";
  if (device.sm_count > kMostSms) return "its sm_count is above " + std::to_string(kMostSms);
  return first_of(
      {name_fault(device.name, "device's name"), count_fault(device.sm_count, 1, "sm_count")});
}

std::optional<std::string> why_unsound(const Timing& timing) {
  constexpr double kRounding = 1e-6;
  const auto& samples = timing.samples_us;
  if (samples.empty()) return "its samples are none";
  for (const double sample : samples) {
    if (time_fault(sample, "")) return "its samples are not times above 0";
  }
  if (const Fault fault = time_fault(timing.median_us, "median_us")) return fault;
  if (std::abs(median(samples) - timing.median_us) > kRounding * timing.median_us) {
    return "its median_us is not the median of its samples";
  }
  if (timing.conditions) {
    const GpuConditions& conditions = *timing.conditions;
    const bool sound =
        conditions.sm_mhz >= 0 && std::isfinite(conditions.power_w) && conditions.power_w >= 0;
    if (!sound) return "its sm_mhz or power_w is none";
  }
  return first_of({count_fault(timing.launches_per_sample, 1, "launches_per_sample"),
                   timing.cold_us ? time_fault(*timing.cold_us, "cold_us") : std::nullopt,
                   text_fault(timing.disturbance, "disturbance", kLongestDetail)});
}

std::optional<std::string> why_unsound(const Baseline& baseline) {
  if (const Fault fault = name_fault(baseline.name, "baseline's name")) return fault;
  const Fault fault = first_of({why_unsound(baseline.timing), error_fault(baseline.error)});
  return fault ? "of its baseline " + *fault : fault;
}

std::optional<std::string> why_unsound(const RunInfo& run) {
  return first_of({text_fault(run.tool_version, "tool_version", kLongestName),
                   text_fault(run.cuda_version, "cuda_version", kLongestName),
                   text_fault(run.driver_version, "driver_version", kLongestName),
                   text_fault(run.command, "command", kLongestDetail)});
}

std::optional<std::string> why_unsound(const TimedConfig& timed) {
  return first_of({why_unsound(timed.device), config_fault(timed.config),
                   name_fault(timed.kernel_hash, "kernel_hash"),
                   time_fault(timed.median_us, "median_us")});
}

std::optional<std::string> why_unsound(const Record& record) {
  return first_of(
      {why_unsound(record.device), config_fault(record.config),
       name_fault(record.kernel_hash, "kernel_hash"), outcome_fault(record.outcome, record.source),
       record.baseline ? why_unsound(*record.baseline) : std::nullopt, why_unsound(record.run),
       text_fault(record.recorded_at, "recorded_at", kLongestName)});
}

}  // namespace gemm_tune
