// SPDX-License-Identifier: Apache-2.0
#include "choose/expected_time.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/static_model.h"

namespace gemm_tune {
namespace {

// A database from elsewhere may hold any number.
std::optional<double> if_a_time(double time_us) {
  return std::isfinite(time_us) && time_us > 0 ? std::optional(time_us) : std::nullopt;
}

std::optional<double> modelled_us(const KnownConfig& config, const Problem& problem,
                                  const DeviceSpec& device) {
  return if_a_time(predict(config.traits, problem, device).time_us);
}

}  // namespace

std::optional<DeviceSpec> modelled_device(const DeviceKey& device) {
  std::optional<DeviceSpec> spec = find_device_spec(device.arch);
  if (!spec) return std::nullopt;
  if (!device.name.empty()) spec->name = device.name;
  if (device.sm_count > 0) spec->sm_count = device.sm_count;
  return spec;
}

std::optional<double> correction_of(const KnownConfig& config, const Record& record) {
  if (!record.outcome.timing) return 1;
  const std::optional<DeviceSpec> device = modelled_device(record.device);
  if (!device) return std::nullopt;
  const std::optional<double> modelled = modelled_us(config, record.problem, *device);
  if (!modelled) return std::nullopt;
  return if_a_time(record.outcome.timing->median_us / *modelled);
}

std::optional<double> expected_us(const KnownConfig& config, double correction,
                                  const Problem& problem, const DeviceSpec& device) {
  const std::optional<double> modelled = modelled_us(config, problem, device);
  if (!modelled) return std::nullopt;
  return if_a_time(correction * *modelled);
}

std::optional<double> typical_factor(std::span<const double> ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) {
    if (ratio > 0 && std::isfinite(ratio)) errors.push_back(std::abs(std::log(ratio)));
  }
  if (errors.empty()) return std::nullopt;
  const auto median = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), median, errors.end());
  return std::exp(*median);
}

}  // namespace gemm_tune
