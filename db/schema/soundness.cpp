// SPDX-License-Identifier: Apache-2.0
#include "db/schema/soundness.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/text/printable.h"

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

template <class T>
std::string number_text(T value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// A launch takes longer than the least, and no run waits for the most, 11 days. No SM multiplies
// faster: 4-bit tensor cores of 2025 reach a third of it.
constexpr double kLeastUs = 0.01, kMostUs = 1e12, kMostFlopsOfSm = 1e14;

Fault time_fault(double us, const std::string& what) {
  if (!std::isfinite(us) || us <= 0) return "its " + what + " is not a time above 0";
  if (us < kLeastUs) return "its " + what + " is " + number_text(us) + " us: no launch is as short";
  return std::nullopt;
}

Fault measured_fault(double us, const std::string& what) {
  if (const Fault fault = time_fault(us, what)) return fault;
  if (us <= kMostUs) return std::nullopt;
  return "its " + what + " is " + number_text(us) + " us: no launch is as long";
}

Fault speed_fault(const DeviceKey& device, const Problem& problem, double us,
                  const std::string& what) {
  const double least_us = 1e6 * flops(problem) / (kMostFlopsOfSm * device.sm_count);
  if (us >= least_us) return std::nullopt;
  return "its " + what + " is " + number_text(us) + " us: no GPU with " +
         std::to_string(device.sm_count) + " SMs multiplies " + to_string(problem) + " as fast";
}

Fault speed_fault(const DeviceKey& device, const Problem& problem,
                  const std::optional<Timing>& timing) {
  if (!timing) return std::nullopt;
  if (const Fault fault = speed_fault(device, problem, timing->median_us, "median_us"))
    return fault;
  return timing->cold_us ? speed_fault(device, problem, *timing->cold_us, "cold_us") : std::nullopt;
}

Fault error_fault(const std::optional<double>& error) {
  if (!error || (std::isfinite(*error) && *error >= 0)) return std::nullopt;
  return "its error is not a number from 0 on";
}

template <class T>
Fault range_fault(T value, T least, T most, const std::string& what) {
  if (value >= least && value <= most) return std::nullopt;
  return "its " + what + " is " + number_text(value) + ", not " + number_text(least) + " to " +
         number_text(most);
}

Fault range_fault(const std::optional<double>& value, double most, const std::string& what) {
  return value ? range_fault(*value, 0.0, most, what) : std::nullopt;
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
  constexpr int kMostBytes = 1 << 26;  // the driver's limits are far below
  // CUDA's limits are 228 KiB and 32 CTAs of an SM (CUDA C++
  // Programming Guide, Technical Specifications per Compute Capability).
  constexpr int kMostSharedBytes = 1 << 20, kMostCtas = 128;
  return first_of({range_fault(resources.registers, 0, 255, "registers"),
                   range_fault(resources.spill_bytes, 0, kMostBytes, "spill_bytes"),
                   range_fault(resources.stack_bytes, 0, kMostBytes, "stack_bytes"),
                   range_fault(resources.smem_bytes, 0, kMostSharedBytes, "smem_bytes"),
                   range_fault(resources.ctas_per_sm, 0, kMostCtas, "ctas_per_sm")});
}

// All may be left out before the row is stored. The latest row of a candidate counts, so that a
// text like 'z' would count for ever.
Fault moment_fault(const std::string& moment) {
  if (moment.empty() || is_moment(moment)) return std::nullopt;
  return "its recorded_at is no moment as in 2026-01-31T12:00:00.000Z";
}

constexpr int kMostRank = 1'000'000;

Fault ranking_fault(const Outcome& outcome) {
  const Ranking& ranking = *outcome.ranking;
  if (outcome.disposition != Disposition::ok || !outcome.timing) {
    return "it has a rank without a time";
  }
  if (ranking.cold_rank.has_value() != outcome.timing->cold_us.has_value()) {
    return "it has one of cold_us and cold_rank only";
  }
  return first_of({range_fault(ranking.rank, 1, kMostRank, "rank"),
                   range_fault(ranking.cold_rank.value_or(1), 1, kMostRank, "cold_rank")});
}

constexpr double kMostSeconds = 1e7, kMostWatts = 1e6;

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
       range_fault(outcome.compile_s, kMostSeconds, "compile_s"),
       range_fault(outcome.gpu_s, kMostSeconds, "gpu_s"), error_fault(outcome.error),
       outcome.ranking ? ranking_fault(outcome) : std::nullopt});
}

Fault conditions_fault(const GpuConditions& conditions) {
  constexpr int kMostMhz = 100'000, kColdest = -274, kHottest = 1000;
  return first_of({range_fault(conditions.sm_mhz, 0, kMostMhz, "sm_mhz"),
                   range_fault(conditions.power_w, kMostWatts, "power_w"),
                   range_fault(conditions.temperature_c, kColdest, kHottest, "temperature_c")});
}

}  // namespace

bool is_moment(const std::string& moment) {
  constexpr std::string_view kFirst = "1970-01-01T00:00:00.000Z",
                             kLast = "2199-12-31T23:59:60.999Z";
  const std::string whole = moment.size() == 20 ? moment.substr(0, 19) + ".000Z" : moment;
  bool has_form = whole.size() == kFirst.size() && whole <= kLast && whole >= kFirst;
  for (std::size_t i = 0; has_form && i < kFirst.size(); ++i) {
    const bool is_digit = whole[i] >= '0' && whole[i] <= '9';
    has_form = kFirst[i] >= '0' && kFirst[i] <= '9' ? is_digit : whole[i] == kFirst[i];
  }
  const auto part_is = [&](std::size_t at, const char* least, const char* most) {
    const std::string_view part = std::string_view(whole).substr(at, 2);
    return part >= least && part <= most;
  };
  return has_form && part_is(5, "01", "12") && part_is(8, "01", "31") && part_is(11, "00", "23") &&
         part_is(14, "00", "59") && part_is(17, "00", "60");
}

std::optional<std::string> why_unsound(const DeviceKey& device) {
  constexpr int kMostSms = 65536;
  if (!is_arch(device.arch)) return "its arch is not one as in sm_86";
  return first_of({name_fault(device.name, "device's name"),
                   range_fault(device.sm_count, 1, kMostSms, "sm_count")});
}

std::optional<std::string> why_unsound(const Timing& timing) {
  constexpr double kRounding = 1e-6;
  const auto& samples = timing.samples_us;
  if (samples.empty()) return "its samples are none";
  for (const double sample : samples) {
    if (const Fault fault = measured_fault(sample, "sample")) return fault;
  }
  if (const Fault fault = measured_fault(timing.median_us, "median_us")) return fault;
  if (std::abs(median(samples) - timing.median_us) > kRounding * timing.median_us) {
    return "its median_us is not the median of its samples";
  }
  constexpr int kMostLaunches = 1'000'000'000;
  return first_of({timing.conditions ? conditions_fault(*timing.conditions) : std::nullopt,
                   range_fault(timing.launches_per_sample, 1, kMostLaunches, "launches_per_sample"),
                   timing.cold_us ? measured_fault(*timing.cold_us, "cold_us") : std::nullopt,
                   text_fault(timing.disturbance, "disturbance", kLongestDetail)});
}

std::optional<std::string> why_unsound(const Baseline& baseline) {
  if (const Fault fault = name_fault(baseline.name, "baseline's name")) return fault;
  const Fault fault =
      first_of({name_fault(baseline.library_version, "library_version"),
                why_unsound(baseline.timing), error_fault(baseline.error),
                range_fault(baseline.algorithms.value_or(1), 1, kMostRank, "algorithms")});
  return fault ? "of its baseline " + *fault : fault;
}

std::optional<std::string> why_unsound(const RunInfo& run) {
  constexpr double kMostMhz = 1e6;
  return first_of({text_fault(run.tool_version, "tool_version", kLongestName),
                   range_fault(run.gpu.power_limit_w, kMostWatts, "power_limit_w"),
                   range_fault(run.gpu.memory_mhz, kMostMhz, "memory_mhz"),
                   text_fault(run.cuda_version, "cuda_version", kLongestName),
                   text_fault(run.driver_version, "driver_version", kLongestName),
                   text_fault(run.command, "command", kLongestDetail)});
}

std::optional<std::string> why_unsound(const TimedConfig& timed) {
  return first_of({why_unsound(timed.device), config_fault(timed.config),
                   name_fault(timed.revision, "revision"),
                   measured_fault(timed.median_us, "median_us"),
                   speed_fault(timed.device, timed.problem, timed.median_us, "median_us")});
}

std::optional<std::string> why_unsound(const Record& record) {
  const Outcome& outcome = record.outcome;
  return first_of({why_unsound(record.device), config_fault(record.config),
                   name_fault(record.revision, "revision"), outcome_fault(outcome, record.source),
                   speed_fault(record.device, record.problem, outcome.timing),
                   outcome.predicted_us ? speed_fault(record.device, record.problem,
                                                      *outcome.predicted_us, "predicted_us")
                                        : std::nullopt,
                   record.baseline ? why_unsound(record.device, record.problem, *record.baseline)
                                   : std::nullopt,
                   why_unsound(record.run), moment_fault(record.recorded_at)});
}

std::optional<std::string> why_unsound(const DeviceKey& device, const Problem& problem,
                                       const Baseline& baseline) {
  if (const Fault fault = why_unsound(baseline)) return fault;
  const Fault fault = speed_fault(device, problem, baseline.timing);
  return fault ? "of its baseline " + *fault : fault;
}

}  // namespace gemm_tune
