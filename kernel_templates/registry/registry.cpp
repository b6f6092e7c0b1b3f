// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "core/error.h"
#include "kernel_templates/product_plan.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/registry/library_families.h"
#include "kernel_templates/registry/user_families.h"

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

// What serves problems that the config may not: predicated, then in one launch, then with accesses
// of the least width for all operands, then with half of it. The step from each of
// served_variants() to the next; nothing after the last.
std::optional<KnownConfig> next_variant(const KnownConfig& config) {
  if (config.family->is_library()) return std::nullopt;
  Specialisation next = config.specialisation();
  if (next.predicated && !next.repack && next.vecs == 0) next.vec /= 2;
  if (next.predicated) next.repack = false;
  if (config.traits.predicated) next.vecs = 0;
  next.predicated = true;
  if (next.vec == 0) return std::nullopt;
  KnownConfig variant = specialised(config, next);
  if (variant.values == config.values) return std::nullopt;  // the family has no such kernel
  return variant;
}

// Plans multiply sizes in 64 bits: of copies with several parts, of shares along K.
void require_addressable(const Problem& problem) {
  constexpr double kMostBytes = 0x1p47;
  const auto M = static_cast<double>(problem.M), N = static_cast<double>(problem.N),
             K = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  const Signature& types = problem.signature;
  const double bytes =
      batch * (M * K * bytes_of(types.a) + N * K * bytes_of(types.b) + M * N * bytes_of(types.d));
  if (bytes <= kMostBytes) return;
  throw UsageError("the matrices of " + to_string(problem) +
                   " take more than 2^47 bytes, which no GPU has addresses for");
}

}  // namespace

Specialisation KnownConfig::specialisation() const {
  return {layout_of(traits.transposed_a, traits.transposed_b),
          traits.vec,
          traits.predicated,
          traits.signature,
          traits.repack,
          traits.vecs,
          traits.batch_kind};
}

LaunchPlan KnownConfig::plan(const Problem& problem, int sm_count) const {
  require_addressable(problem);
  if (family->plan) return family->plan(values, problem, sm_count);
  return product_plan(recipe, problem, sm_count);
}

std::span<const KernelFamily> families() {
  static const std::vector<KernelFamily> all = [] {
    std::vector<KernelFamily> list = built_in_families();
    for (KernelFamily& family : take_user_families()) list.push_back(std::move(family));
    return list;
  }();
  return all;
}

std::vector<const KernelFamily*> families_of(const Signature& signature) {
  std::vector<const KernelFamily*> found;
  for (const KernelFamily& family : families()) {
    if (family.supports(signature)) found.push_back(&family);
  }
  return found;
}

bool is_served(const Signature& signature) {
  enum Answer : unsigned char { unknown, yes, no };
  constexpr std::size_t kTypes = std::size(kTypeTable), kClasses = std::size(kAccuracyTable) + 1;
  static std::array<std::atomic<Answer>, kTypes * kTypes * kTypes * kTypes * kClasses> answers{};
  std::size_t number = static_cast<std::size_t>(signature.accuracy);
  for (const ElementType type : {signature.a, signature.b, signature.c, signature.d}) {
    number = number * kTypes + static_cast<std::size_t>(type);
  }
  std::atomic<Answer>& answer = answers[number];
  if (answer.load(std::memory_order_relaxed) == unknown) {
    const bool is_any = std::any_of(families().begin(), families().end(),
                                    [&](const auto& family) { return family.supports(signature); });
    answer.store(is_any ? yes : no, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == yes;
}

std::optional<std::string> why_unserved(const Signature& signature) {
  if (is_served(signature)) return std::nullopt;
  Signature of_default_class = signature;
  of_default_class.accuracy = accuracy_of(signature.a, signature.b);
  if (is_served(of_default_class)) {
    const AccuracyInfo& asked = info_of(signature.accuracy);
    return std::string("no kernel family has the accuracy class ") + asked.name + " (" +
           asked.meaning + ")" +
           (signature.a == signature.b ? "" : " for " + to_string(of_default_class)) + " yet";
  }
  return "no kernel family has kernels of the types " + to_string(signature) + " yet";
}

std::optional<std::string> why_unserved(const Problem& problem) {
  if (problem.batch_kind == BatchKind::groups) {
    return "no kernel family serves batches of groups, whose products have sizes of their own, yet";
  }
  return why_unserved(problem.signature);
}

const KernelFamily* find_family(std::string_view name) {
  for (const std::span<const KernelFamily> all : {families(), library_families()}) {
    for (const KernelFamily& family : all) {
      if (family.name == name) return &family;
    }
  }
  return nullptr;
}

KnownConfig known_config(const KernelFamily& family, std::vector<int> values) {
  KnownConfig config;
  config.family = &family;
  config.values = std::move(values);
  while (config.values.size() < family.params.size()) {
    config.values.push_back(family.params[config.values.size()].default_value.value());
  }
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
    const std::optional<int> named = config.get(param.name);
    const std::optional<int> value = named ? named : param.default_value;
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

KnownConfig specialised(const KnownConfig& config, const Specialisation& specialisation) {
  return known_config(*config.family, config.family->specialised(config.values, specialisation));
}

std::vector<KnownConfig> served_variants(const KnownConfig& winner) {
  std::vector<KnownConfig> variants = {winner};
  while (std::optional<KnownConfig> next = next_variant(variants.back())) {
    variants.push_back(*std::move(next));
  }
  return variants;
}

std::optional<LegalConfig> legal_for(const KnownConfig& config, const Problem& problem) {
  bool is_specialisation = false;
  for (std::optional<KnownConfig> one = config; one; one = next_variant(*one)) {
    if (!why_illegal(one->recipe, problem)) return LegalConfig{*std::move(one), is_specialisation};
    is_specialisation = true;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
