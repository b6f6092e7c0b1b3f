// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace gemm_tune {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> param_names(const KernelFamily& family) {
  std::vector<std::string> names;
  for (const ParamSpec& param : family.params) names.push_back(param.name);
  return names;
}

}  // namespace

const KernelFamily* find_family(std::string_view name) {
  for (const KernelFamily& family : families()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

KnownConfig known_config(const KernelFamily& family, std::vector<int> values) {
  KnownConfig config;
  config.family = &family;
  config.values = std::move(values);
  config.traits = family.traits(config.values);
  config.recipe = launch_recipe(config.traits);
  return config;
}

KnownConfig check_config(const Config& config) {
  const KernelFamily* family = find_family(config.family);
  if (family == nullptr) {
    std::vector<std::string> names;
    for (const KernelFamily& known_family : families()) names.push_back(known_family.name);
    throw UsageError("'" + config.family + "' is not a kernel family: use one of " + joined(names));
  }
  for (const auto& [name, value] : config.params) {
    if (!family->find_param(name)) {
      throw UsageError("'" + name + "' is not a parameter of " + family->name + ": it has " +
                       joined(param_names(*family)));
    }
  }
  std::vector<int> values;
  for (const ParamSpec& param : family->params) {
    const std::optional<int> value = config.get(param.name);
    if (!value) {
      throw UsageError("config '" + to_string(config) + "' lacks " + param.name + " (" +
                       param.meaning + "): name all of " + joined(param_names(*family)));
    }
    values.push_back(*value);
  }
  if (const auto reason = family->reject(values)) {
    throw UsageError("config '" + to_string(config) + "' is illegal: " + *reason);
  }
  return known_config(*family, std::move(values));
}

KnownConfig predicated_twin(const KnownConfig& config, int alignment) {
  std::vector<int> values = config.values;
  if (const auto pred = config.family->find_param("PRED")) values[*pred] = 1;
  if (const auto vec = config.family->find_param("VEC")) {
    values[*vec] = std::min(values[*vec], alignment);
  }
  return known_config(*config.family, std::move(values));
}

std::vector<KnownConfig> served_variants(const KnownConfig& winner) {
  std::vector<KnownConfig> variants = {winner};
  // Narrower accesses also fit where a matrix edge would cut wider ones in two.
  for (const int alignment : {4, 2, 1}) {
    KnownConfig twin = predicated_twin(winner, alignment);
    const bool known = std::any_of(variants.begin(), variants.end(), [&](const KnownConfig& other) {
      return other.values == twin.values;
    });
    if (!known) variants.push_back(std::move(twin));
  }
  return variants;
}

std::optional<LegalConfig> legal_for(const KnownConfig& config, const Problem& problem) {
  if (!why_illegal(config.recipe, problem)) return LegalConfig{config, false};
  for (KnownConfig& twin : served_variants(config)) {
    if (!why_illegal(twin.recipe, problem)) return LegalConfig{std::move(twin), true};
  }
  return std::nullopt;
}

}  // namespace gemm_tune
