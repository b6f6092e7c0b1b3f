// SPDX-License-Identifier: Apache-2.0
#include "choose/expected_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "search/model/static_model.h"

namespace gemm_tune {

std::optional<double> if_a_time(double time_us) {
  return std::isfinite(time_us) && time_us > 0 ? std::optional(time_us) : std::nullopt;
}

std::optional<double> modelled_us(const KnownConfig& config, const Problem& problem,
                                  const DeviceSpec& device) {
  return if_a_time(predict(config.traits, problem, device).time_us);
}

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

ModelledConfig::ModelledConfig(const KnownConfig& config, std::string_view arch) {
  const std::optional<DeviceSpec> device = find_device_spec(arch);
  const Traits& traits = config.traits;
  const bool is_modelled = device && traits.threads > 0;  // no algorithm of a library is
  if (!is_modelled) return;
  const ModelConstants& constants = machine_profile(arch).model;
  DeviceSpec card = *device;
  const auto model_of = [&](const char* name) {
    card.name = name;
    ConfigModel model(traits, card, std::nullopt, constants);
    model.remember();
    return model;
  };
  model_ = model_of("");
  least_ = LeastTime(traits, *model_, constants);
  const bool differs = constants.geforce_tensor_share != 1 && uses_tensor_cores(traits.signature);
  if (differs) of_geforce_ = model_of(kGeforce);
}

std::optional<double> ModelledConfig::us(const Problem& problem, const DeviceSpec& device) const {
  if (!model_) return std::nullopt;
  const ConfigModel& model = of_geforce_ && is_geforce(device) ? *of_geforce_ : *model_;
  return if_a_time(model.time_us(problem, device.sm_count));
}

std::optional<double> ModelledConfig::expected_us(double correction, const Problem& problem,
                                                  const DeviceSpec& device) const {
  const std::optional<double> modelled = us(problem, device);
  return modelled ? if_a_time(correction * *modelled) : std::nullopt;
}

std::optional<double> expected_us(const KnownConfig& config, double correction,
                                  const Problem& problem, const DeviceSpec& device) {
  const std::optional<double> modelled = modelled_us(config, problem, device);
  if (!modelled) return std::nullopt;
  return if_a_time(correction * *modelled);
}

double log_correction_at(double distance, double own, double median, bool is_learned) {
  if (!is_learned) return own;
  return median + std::max(0.0, 1 - std::log2(distance)) * (own - median);
}

double weight_at(double distance) { return 1 / (1 + std::log2(distance)); }

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<double> typical_factor(const std::vector<double>& ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) {
    if (if_a_time(ratio)) errors.push_back(std::abs(std::log(ratio)));
  }
  const std::optional<double> median = median_of(std::move(errors));
  return median ? std::optional(std::exp(*median)) : std::nullopt;
}

}  // namespace gemm_tune
