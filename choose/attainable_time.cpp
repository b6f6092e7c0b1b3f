// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/expected_time.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

// Every specialisation of the configs that may serve a problem of the types, the layout and the
// kind of batch: of each config, the one for whole vectors first.
using Variants = std::vector<std::vector<KnownConfig>>;

Variants variants_of(const Signature& signature, Layout layout, BatchKind batch_kind) {
  Variants variants;
  for (const KernelFamily* family : families_of(signature)) {
    for (const std::vector<int>& representative : family->representatives) {
      Specialisation wanted = known_config(*family, representative).specialisation();
      wanted.layout = layout;
      wanted.signature = signature;
      wanted.batch_kind = batch_kind;
      std::vector<int> values = family->specialised(representative, wanted);
      if (family->reject(values)) continue;
      variants.push_back(served_variants(known_config(*family, std::move(values))));
    }
  }
  return variants;
}

const Variants& known_variants(const Problem& problem) {
  const std::tuple key(problem.signature, problem.layout, problem.batch_kind);
  // Never destroyed: a thread may ask while the process ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::tuple<Signature, Layout, BatchKind>, Variants>;
  const std::lock_guard finding(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, std::apply(variants_of, key)).first->second;
}

}  // namespace

std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device) {
  const LaunchProblem asked = launch_problem(problem);
  std::optional<double> least;
  for (const std::vector<KnownConfig>& of_one : known_variants(problem)) {
    for (const KnownConfig& variant : of_one) {
      if (!has_instructions(variant.traits, device.sm())) break;
      if (refusal(variant.recipe, asked) != Refusal::none) continue;
      const std::optional<double> time_us = modelled_us(variant, problem, device);
      if (time_us && (!least || *time_us < *least)) least = time_us;
      break;
    }
  }
  return least;
}

}  // namespace gemm_tune
