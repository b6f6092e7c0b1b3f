// SPDX-License-Identifier: Apache-2.0
#include "research/sweep/sweep_entries.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/candidate/config.h"
#include "core/error.h"
#include "kernel_templates/registry/registry.h"
#include "search/model/static_model.h"

namespace gemm_tune {
namespace {

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Numbers are sorted by size, after absent values and before other texts, which keep their order.
bool comes_before(const std::string& a, const std::string& b) {
  const auto rank = [](const std::string& text) {
    return text == kAbsentValue ? 0 : number_of(text) ? 1 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return rank(a) == 1 && *number_of(a) < *number_of(b);
}

// The config with these values, if the current family has it. A parameter that was added or removed
// since counts as 0 where it is missing: it was not in use.
std::optional<KnownConfig> todays_config(const KernelFamily& family,
                                         const std::map<std::string, std::string>& values) {
  Config config = {family.name, {}};
  for (const auto& [name, value] : values) {
    if (name == kFamilyParam || family.find_param(name) || value == "0" || value == kAbsentValue)
      continue;
    return std::nullopt;
  }
  for (const ParamSpec& param : family.params) {
    const auto value = values.find(param.name);
    const std::optional<double> number =
        number_of(value == values.end() || value->second == kAbsentValue ? "0" : value->second);
    if (!number || !(std::abs(*number) <= 1e6) || *number != std::floor(*number)) {
      return std::nullopt;
    }
    config.params.emplace_back(param.name, static_cast<int>(*number));
  }
  try {
    return check_config(config);
  } catch (const UsageError&) {  // a rule has changed
    return std::nullopt;
  }
}

}  // namespace

Sweep sweep_of(std::string name, const std::vector<std::string>& names,
               const std::vector<Entry>& entries, const SweepBounds& bounds) {
  if (entries.size() > bounds.configs) {
    throw UsageError(fmt::format("sweep '{}' has {} configs, and {} are the most", name,
                                 entries.size(), bounds.configs));
  }
  std::vector<SearchParam> params;
  std::vector<std::map<std::string, SearchSpace::ValueIndex>> places(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SearchParam param = {names[i], {}};
    for (const Entry& entry : entries) {
      const std::string& value = entry.values.at(names[i]);
      if (places[i].emplace(value, 0).second) param.values.push_back(value);
    }
    if (param.values.size() > std::numeric_limits<SearchSpace::ValueIndex>::max()) {
      throw UsageError(fmt::format("sweep '{}' has {} values of {}, and 65535 are the most", name,
                                   param.values.size(), names[i]));
    }
    std::stable_sort(param.values.begin(), param.values.end(), comes_before);
    for (std::size_t place = 0; place < param.values.size(); ++place) {
      places[i][param.values[place]] = static_cast<SearchSpace::ValueIndex>(place);
    }
    params.push_back(std::move(param));
  }
  std::vector<SearchSpace::ValueIndex> points;
  points.reserve(entries.size() * names.size());
  for (const Entry& entry : entries) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      points.push_back(places[i].at(entry.values.at(names[i])));
    }
  }
  Sweep sweep = {
      std::move(name), SearchSpace(std::move(params), std::move(points)), {}, {}, {}, {}, {}, {}};
  for (const Entry& entry : entries) {
    sweep.keys.push_back(entry.key);
    sweep.time_us.push_back(entry.time_us);
  }
  if (std::none_of(sweep.time_us.begin(), sweep.time_us.end(),
                   [](const auto& time) { return time.has_value(); })) {
    throw UsageError("sweep '" + sweep.name + "' has no entry with a time");
  }
  return sweep;
}

void predict_times(Sweep& sweep, const std::vector<Entry>& entries,
                   const std::map<std::string, std::string>& fixed) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  bool any = false;
  for (const Entry& entry : entries) {
    std::map<std::string, std::string> values = fixed;
    for (const auto& [name, value] : entry.values) values[name] = value;
    const auto family = values.find(kFamilyParam);
    const KernelFamily* found = family == values.end() ? nullptr : find_family(family->second);
    const bool has_model = found && !found->is_library();
    const auto config = has_model ? todays_config(*found, values) : std::nullopt;
    any = any || config;
    sweep.predicted_us.push_back(
        config ? predict(config->traits, *sweep.problem, *sweep.device).time_us : unknown);
  }
  if (!any) sweep.predicted_us.clear();
}

}  // namespace gemm_tune
