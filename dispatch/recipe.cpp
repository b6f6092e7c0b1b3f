// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recipe.h"

#include <optional>

#include "core/error.h"
#include "core/launch/launch_plan.h"
#include "core/launch/launch_recipe.h"
#include "kernel_templates/registry/library_families.h"

namespace gemm_tune {
namespace {

gt_match match_of(Match match) {
  switch (match) {
    case Match::exact:
      return GT_MATCH_EXACT;
    case Match::nearest:
      return GT_MATCH_NEAREST;
    case Match::builtin:
      return GT_MATCH_DEFAULT;
    case Match::none:
      return GT_MATCH_NONE;
  }
  throw Error("a match outside the closed list");
}

// Of the device; of one without a name, that of the winner's, else of the architecture's typical
// card.
int sm_count_of(const DeviceKey& device, const Choice& choice) {
  if (device.sm_count > 0) return device.sm_count;
  if (choice.winner) return choice.winner->device.sm_count;
  const std::optional<DeviceSpec> typical = find_device_spec(device.arch);
  return typical ? typical->sm_count : 1;
}

void describe_winner(const Record& winner, const DeviceKey& device, const Problem& problem,
                     gt_recipe* recipe) {
  const bool measured = winner.source == Source::measured;
  recipe->source = measured ? GT_SOURCE_MEASURED : GT_SOURCE_PREDICTED;
  recipe->distance = shape_distance(launch_problem(winner.problem), launch_problem(problem));
  if (!measured || (!device.name.empty() && winner.device != device)) return;
  recipe->tuned_us = winner.outcome.timing->median_us;
  if (winner.baseline) recipe->baseline_us = winner.baseline->timing.median_us;
}

}  // namespace

gt_recipe recipe_of(const Choice& choice, const DeviceKey& device, const Problem& problem) {
  const int sm_count = sm_count_of(device, choice);
  gt_recipe recipe{};
  recipe.match = match_of(choice.match);
  recipe.config = "";
  recipe.expected_us = choice.expected_us.value_or(0);
  recipe.cublas_us = choice.cublas_us.value_or(0);
  recipe.expected_within = choice.within.value_or(0);
  if (choice.winner) describe_winner(*choice.winner, device, problem, &recipe);
  if (!choice.config) return recipe;
  if (choice.config->family->is_library()) {
    const Alignment& own = problem.alignment;
    recipe.align_a = own.a;
    recipe.align_b = own.b;
    recipe.align_c = own.c;
    recipe.align_d = own.d;
    recipe.workspace_bytes = library_workspace_bytes(*choice.config);
    return recipe;
  }
  const LaunchRecipe& launch = choice.config->recipe;
  const Alignment needed = needed_alignment(launch, problem.signature);
  recipe.align_a = needed.a;
  recipe.align_b = needed.b;
  recipe.align_c = needed.c;
  recipe.align_d = needed.d;
  recipe.workspace_bytes = choice.config->plan(problem, sm_count).workspace_bytes;
  return recipe;
}

}  // namespace gemm_tune
