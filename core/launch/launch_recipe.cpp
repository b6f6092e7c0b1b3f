// SPDX-License-Identifier: Apache-2.0
#include "core/launch/launch_recipe.h"

#include "core/error.h"

namespace gemm_tune {
namespace {

std::string misfit(const char* edge, std::int64_t size, int multiple) {
  return std::string(edge) + " = " + std::to_string(size) + " is not a multiple of " +
         std::to_string(multiple) +
         (multiple <= 4 ? " and the kernel's vector accesses demand it"
                        : " and the kernel is not predicated");
}

}  // namespace

Alignment needed_alignment(const LaunchRecipe& recipe, const Signature& signature) {
  const auto of = [&](int own) {
    return uniform_alignment(signature, own > 0 ? own : recipe.alignment);
  };
  const bool copies = recipe.repack;
  return {copies ? bytes_of(signature.a) : of(recipe.alignment_a).a,
          copies ? bytes_of(signature.b) : of(recipe.alignment_b).b, of(recipe.alignment_cd).c,
          of(recipe.alignment_cd).d};
}

std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem) {
  switch (refusal(recipe, launch_problem(problem))) {
    case Refusal::none:
      return std::nullopt;
    case Refusal::types: {
      const Signature types{recipe.type_a, recipe.type_b, recipe.type_cd, recipe.type_cd,
                            recipe.accuracy};
      return "the kernel is for " + to_string(types) + "; the problem has " +
             to_string(problem.signature);
    }
    case Refusal::accuracy:
      return "the kernel is of the accuracy class " + std::string(to_string(recipe.accuracy)) +
             "; the problem asks for " + std::string(to_string(problem.signature.accuracy));
    case Refusal::layout:
      return "the kernel is for layout " + std::string(to_string(recipe.layout)) +
             "; the problem has " + std::string(to_string(problem.layout));
    case Refusal::batch_kind:
      return "the kernel is for batches of the kind " + std::string(to_string(recipe.batch_kind)) +
             "; the problem's is " + std::string(to_string(problem.batch_kind));
    case Refusal::tail_of_batch:
      return "a kernel that cuts tiles of the last wave takes no batches";
    case Refusal::repack_of_batch:
      return "a pre-pass takes no batches";
    case Refusal::repack_size:
      return "a pre-pass copies at most " + std::to_string(kMaxCopiedElements) + " elements";
    case Refusal::multiple_m:
      return misfit("M", problem.M, recipe.multiple_m);
    case Refusal::multiple_n:
      return misfit("N", problem.N, recipe.multiple_n);
    case Refusal::multiple_k:
      return misfit("K", problem.K, recipe.multiple_k);
    case Refusal::alignment:
      return "the kernel's accesses need align=" +
             to_string(needed_alignment(recipe, problem.signature)) +
             "; the problem has align=" + to_string(problem.alignment);
    case Refusal::batch:
      return "a batch of " + std::to_string(problem.batch) + " exceeds the grid's " +
             std::to_string(kMaxBatch);
    case Refusal::grid:
      return "the grid would exceed 2^31 - 1 CTAs";
    case Refusal::counters:
      return "more shared tiles than a workspace has counters for";
  }
  throw Error("a refusal outside the closed list");
}

}  // namespace gemm_tune
