// SPDX-License-Identifier: Apache-2.0
#include "core/launch_recipe.h"

#include "core/error.h"

namespace gemm_tune {
namespace {

std::string misfit(const char* edge, std::int64_t size, int multiple) {
  return std::string(edge) + " = " + std::to_string(size) + " is not a multiple of " +
         std::to_string(multiple) +
         (multiple <= 4 ? " and the kernel's vector accesses demand it"
                        : " and the kernel is not predicated");
}

std::string of_operands(int a, int b, int c) {
  return std::to_string(a) + "/" + std::to_string(b) + "/" + std::to_string(c);
}

}  // namespace

Alignment needed_alignment(const LaunchRecipe& recipe, const Signature& signature) {
  if (recipe.alignment_a == 0) return uniform_alignment(signature, recipe.alignment);
  return {uniform_alignment(signature, recipe.alignment_a).a,
          uniform_alignment(signature, recipe.alignment_b).b,
          uniform_alignment(signature, recipe.alignment_cd).c,
          uniform_alignment(signature, recipe.alignment_cd).d};
}

std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem) {
  switch (refusal(recipe, launch_problem(problem))) {
    case Refusal::none:
      return std::nullopt;
    case Refusal::types:
      return "the kernel is for " + to_string(signature_of(recipe.type_ab, recipe.type_cd)) +
             "; the problem has " + to_string(problem.signature);
    case Refusal::layout:
      return "the kernel is for layout " + std::string(to_string(recipe.layout)) +
             "; the problem has " + std::string(to_string(problem.layout));
    case Refusal::tail_of_batch:
      return "TAIL takes no batches";
    case Refusal::repack_of_batch:
      return "REPACK takes no batches";
    case Refusal::repack_size:
      return "REPACK copies at most " + std::to_string(kMaxCopiedElements) + " elements";
    case Refusal::multiple_m:
      return misfit("M", problem.M, recipe.multiple_m);
    case Refusal::multiple_n:
      return misfit("N", problem.N, recipe.multiple_n);
    case Refusal::multiple_k:
      return misfit("K", problem.K, recipe.multiple_k);
    case Refusal::alignment:
      if (recipe.alignment_a > 0) {
        const Alignments has = alignments(problem);
        return "vector accesses need alignments " +
               of_operands(recipe.alignment_a, recipe.alignment_b, recipe.alignment_cd) +
               " of A, B and C; the problem has " + of_operands(has.a, has.b, has.cd);
      }
      return "vector accesses of " + std::to_string(recipe.alignment) +
             " elements need alignment class " + std::to_string(recipe.alignment) +
             (recipe.repack ? " of C and D" : "") + "; the problem has " +
             std::to_string(recipe.repack ? repacked_class(problem) : alignment_class(problem));
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
