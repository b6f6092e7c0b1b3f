// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/expected_time.h"
#include "choose/least_time.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

struct Variant {
  KnownConfig config;
  LeastTime least;
};

// Every specialisation of the configs that may serve a problem of the types, the layout and the
// kind of batch on the architecture: of each config, the one for whole vectors first.
using Variants = std::vector<std::vector<Variant>>;

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
      std::vector<Variant>& of_one = variants.emplace_back();
      for (KnownConfig& one : served_variants(known_config(*family, std::move(values)))) {
        if (!has_instructions(one.traits, sm)) break;
        const LeastTime least(one.traits, arch);
        of_one.push_back({std::move(one), least});
      }
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

}  // namespace

std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device) {
  const LaunchProblem asked = launch_problem(problem);
  // The variant of each config that serves, and the time that the model gives it at least.
  struct Candidate {
    const Variant* variant;
    double least_us;
  };
  thread_local std::vector<Candidate> candidates;
  candidates.clear();
  for (const std::vector<Variant>& of_one : known_variants(problem, device)) {
    for (const Variant& variant : of_one) {
      if (refusal(variant.config.recipe, asked) != Refusal::none) continue;
      candidates.push_back({&variant, variant.least.us(problem, device)});
      break;
    }
  }
  // The likeliest first, so that few others need be modelled.
  const auto first = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.least_us < b.least_us; });
  if (first == candidates.end()) return std::nullopt;
  std::iter_swap(first, candidates.begin());
  std::optional<double> least;
  for (const Candidate& one : candidates) {
    if (least && one.least_us >= *least) continue;
    const std::optional<double> time_us = modelled_us(one.variant->config, problem, device);
    if (time_us && (!least || *time_us < *least)) least = time_us;
  }
  return least;
}

}  // namespace gemm_tune
