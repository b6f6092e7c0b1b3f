// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "choose/expected_time.h"
#include "core/launch_recipe.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {
namespace {

// Chosen greedily for sm_90 by the model alone, from 3,624 configs that searches had timed and from
// 6,000 of mma: over 400 random problems (sizes from 8 to 16,384, batches, each layout and
// alignment) their least time is 3 % above that over all of them (mma: 5 %), 22 % (35 %) at most.
constexpr const char* kOfWarpTiled[] = {"CLUSTER", "BM",   "BN",      "BK",      "WM",
                                        "WN",      "TM",   "TN",      "WARPS_K", "STAGES",
                                        "ASYNC",   "CTAS", "SPLIT_K", "TAIL"};
constexpr int kWarpTiled[][std::size(kOfWarpTiled)] = {
    {1, 32, 64, 16, 32, 16, 4, 4, 1, 2, 0, 1, 3, 0},
    {0, 32, 32, 32, 16, 32, 4, 4, 1, 2, 0, 1, 1, 2},
    {0, 64, 64, 8, 16, 64, 4, 8, 1, 2, 0, 1, 1, 0},
    {1, 32, 32, 32, 32, 32, 8, 4, 8, 2, 0, 2, 8, 0},
    {1, 32, 32, 32, 32, 32, 4, 8, 4, 2, 0, 1, 2, 0},
    {0, 64, 64, 16, 64, 64, 16, 8, 4, 2, 0, 1, 1, 1},
    {0, 64, 32, 16, 16, 32, 4, 4, 1, 2, 0, 1, 1, 0},
    {1, 16, 32, 32, 16, 32, 4, 4, 4, 4, 1, 1, 2, 0},
    {1, 128, 128, 8, 128, 32, 16, 8, 1, 2, 0, 2, 3, 0},
    {0, 32, 64, 32, 16, 64, 4, 8, 4, 2, 0, 2, 1, 1},
    {0, 64, 128, 8, 32, 64, 8, 8, 1, 2, 0, 1, 1, 0},
    {1, 32, 32, 8, 32, 16, 4, 4, 1, 3, 1, 1, 8, 0},
    {0, 32, 32, 8, 16, 32, 4, 4, 1, 5, 1, 1, 1, 0},
    {0, 64, 32, 32, 64, 32, 8, 8, 4, 2, 0, 1, 16, 0},
    {0, 16, 32, 32, 16, 32, 4, 4, 4, 4, 1, 1, 1, 1},
    {1, 16, 32, 32, 16, 32, 4, 4, 4, 2, 0, 1, 2, 0},
    {0, 64, 32, 32, 64, 32, 8, 8, 4, 2, 0, 1, 1, 1},
    {0, 128, 128, 8, 128, 32, 16, 8, 1, 2, 0, 1, 1, 1},
    {0, 32, 64, 32, 32, 64, 8, 8, 4, 2, 0, 1, 1, 0},
    {1, 64, 64, 16, 16, 32, 4, 4, 1, 2, 0, 1, 8, 0},
    {0, 32, 32, 32, 32, 32, 4, 8, 4, 2, 0, 1, 1, 1},
    {0, 64, 64, 8, 64, 64, 16, 8, 1, 2, 0, 1, 1, 0},
    {0, 16, 32, 32, 16, 32, 4, 4, 4, 3, 1, 1, 8, 0},
    {0, 16, 32, 16, 16, 32, 4, 4, 4, 5, 1, 1, 1, 0},
    {1, 64, 32, 8, 64, 32, 8, 8, 1, 2, 0, 1, 3, 0},
    {0, 32, 128, 16, 32, 32, 8, 4, 1, 2, 0, 1, 1, 1},
    {1, 32, 32, 16, 32, 32, 8, 4, 4, 4, 1, 1, 3, 0},
    {0, 128, 64, 8, 32, 64, 8, 8, 1, 2, 0, 1, 1, 1},
    {1, 64, 64, 32, 64, 64, 16, 8, 8, 2, 0, 1, 2, 0},
    {1, 32, 64, 32, 16, 64, 4, 8, 4, 2, 0, 2, 6, 0},
    {0, 16, 32, 8, 16, 32, 4, 4, 1, 3, 1, 1, 1, 0},
};
constexpr const char* kOfMma[] = {"BM", "BN", "BK", "WM", "WN", "STAGES", "SPLIT_K"};
constexpr int kMma[][std::size(kOfMma)] = {
    {32, 64, 32, 16, 64, 5, 1},   {32, 32, 32, 32, 32, 5, 8}, {128, 128, 16, 64, 64, 4, 1},
    {16, 16, 64, 16, 16, 5, 1},   {64, 64, 16, 32, 64, 5, 8}, {64, 32, 16, 64, 32, 5, 1},
    {256, 128, 16, 64, 64, 3, 1}, {16, 32, 64, 16, 32, 5, 8}, {64, 96, 32, 32, 48, 5, 1},
    {64, 64, 16, 32, 64, 5, 1},   {32, 32, 64, 16, 32, 5, 1}, {128, 128, 16, 64, 64, 4, 8},
};

std::string text_of(std::string text, std::span<const char* const> names,
                    std::span<const int> values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += std::string(names[i]) + "=" + std::to_string(values[i]) + ",";
  }
  return text;
}

std::vector<std::string> config_texts() {
  std::vector<std::string> texts = {
      "skinny/CLUSTER=0,BS=8,TL=4,WARPS=4,LANES_K=32,UNROLL=2,VEC=4,SPLIT_K=1,SKINNY_N=1,TA=0,TB=0,"
      "PRED=1"};
  for (const auto& values : kWarpTiled) {
    texts.push_back(text_of("warp_tiled/", kOfWarpTiled, values) +
                    "FRAGMENTS=2,VEC=4,RASTER=8,TA=0,TB=0,PRED=1");
  }
  for (const auto& values : kMma) {
    texts.push_back(text_of("mma/", kOfMma, values) +
                    "AB=2,CD=0,MMA_K=16,ASYNC=1,VEC=8,RASTER=8,TA=0,TB=0,PRED=1");
  }
  return texts;
}

// Every specialisation of the configs that may serve a problem of the types and the layout: of each
// config, the one for whole vectors first.
using Variants = std::vector<std::vector<KnownConfig>>;

Variants variants_of(const Signature& signature, Layout layout) {
  Variants variants;
  for (const std::string& text : config_texts()) {
    const KnownConfig config = check_config(parse_config(text));
    Specialisation wanted = config.specialisation();
    wanted.layout = layout;
    wanted.signature = signature;
    if (!config.family->supports(signature)) continue;
    std::vector<int> values = config.family->specialised(config.values, wanted);
    if (config.family->reject(values)) continue;
    variants.push_back(served_variants(known_config(*config.family, std::move(values))));
  }
  return variants;
}

const Variants& known_variants(const Signature& signature, Layout layout) {
  // Never destroyed: a thread may ask while the process ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<Signature, Layout>, Variants>;
  const std::lock_guard finding(mutex);
  const auto found = known.find({signature, layout});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair(signature, layout), variants_of(signature, layout)).first->second;
}

}  // namespace

std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device) {
  const LaunchProblem asked = launch_problem(problem);
  std::optional<double> least;
  for (const std::vector<KnownConfig>& of_one : known_variants(problem.signature, problem.layout)) {
    for (const KnownConfig& variant : of_one) {
      if (refusal(variant.recipe, asked) != Refusal::none) continue;
      const std::optional<double> time_us = modelled_us(variant, problem, device);
      if (time_us && (!least || *time_us < *least)) least = time_us;
      break;
    }
  }
  return least;
}

}  // namespace gemm_tune
