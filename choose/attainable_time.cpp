// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/expected_time.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

struct Variant {
  KnownConfig config;
  ModelledConfig modelled;
};

// Every specialisation of a config that may serve a problem: the one for whole vectors first.
struct Specialisations {
  std::vector<Variant> all;
  LeastTime least;  // of each of them
};

// Those of the configs for problems of the types, the layout and the kind of batch on the
// architecture.
using Variants = std::vector<Specialisations>;

Variants variants_of(const Signature& signature, Layout layout, BatchKind batch_kind, int sm,
                     const std::string& arch) {
  Variants variants;
  for (const KernelFamily* family : families_of(signature)) {
    for (const std::vector<int>& representative : family->representatives) {
      Specialisation wanted = known_config(*family, representative).specialisation();
      wanted.layout = layout;
      wanted.signature = signature;
      wanted.batch_kind = batch_kind;
      std::vector<int> values = family->specialised(representative, wanted);
      if (family->reject(values)) continue;
      Specialisations of_one;
      for (KnownConfig& one : served_variants(known_config(*family, std::move(values)))) {
        if (!has_instructions(one.traits, sm)) break;
        const ModelledConfig modelled(one, arch);
        if (of_one.all.empty()) of_one.least = modelled.least();
        of_one.least.take_least(modelled.least());
        of_one.all.push_back({std::move(one), modelled});
      }
      if (!of_one.all.empty()) variants.push_back(std::move(of_one));
    }
  }
  return variants;
}

// device: of the table's architectures.
const Variants& known_variants(const Problem& problem, const DeviceSpec& device) {
  const std::tuple key(problem.signature, problem.layout, problem.batch_kind, device.sm(),
                       device.arch);
  // Never destroyed: a thread may ask while the process ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& known =
      *new std::map<std::tuple<Signature, Layout, BatchKind, int, std::string>, Variants>;
  const std::lock_guard finding(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, std::apply(variants_of, key)).first->second;
}

// Of the first that may serve.
std::optional<double> time_of(const Specialisations& of_one, const Problem& problem,
                              const LaunchProblem& asked, const DeviceSpec& device) {
  for (const Variant& variant : of_one.all) {
    if (refusal(variant.config.recipe, asked) != Refusal::none) continue;
    return variant.modelled.us(problem, device);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device) {
  const Variants& variants = known_variants(problem, device);
  if (variants.empty()) return std::nullopt;
  const LaunchProblem asked = launch_problem(problem);
  // The likeliest first, so that few others need be modelled.
  const LeastTime::Amount amount = LeastTime::amount(problem, device);
  const Specialisations& first = *std::min_element(
      variants.begin(), variants.end(),
      [&](const auto& a, const auto& b) { return a.least.us_of(amount) < b.least.us_of(amount); });
  std::optional<double> least = time_of(first, problem, asked, device);
  struct Candidate {
    double least_us;
    const Specialisations* one;
  };
  thread_local std::vector<Candidate> of_thread;
  std::vector<Candidate>& others = of_thread;
  others.clear();
  for (const Specialisations& one : variants) {
    if (&one == &first || (least && one.least.us_of(amount) >= *least)) continue;
    const double least_us = one.least.us(problem, device);
    if (!least || least_us < *least) others.push_back({least_us, &one});
  }
  std::sort(others.begin(), others.end(),
            [](const Candidate& a, const Candidate& b) { return a.least_us < b.least_us; });
  for (const Candidate& other : others) {
    if (least && other.least_us >= *least) break;
    const std::optional<double> time_us = time_of(*other.one, problem, asked, device);
    if (time_us && (!least || *time_us < *least)) least = time_us;
  }
  return least;
}

}  // namespace gemm_tune
