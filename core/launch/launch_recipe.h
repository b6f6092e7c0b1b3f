// SPDX-License-Identifier: Apache-2.0
// How to launch a compiled config for a problem, and the reasons to refuse a launch.
//
// A config's family derives the recipe. The tuner, the database's chooser and the runtime library
// all judge it by the functions below. The arithmetic is that of core/launch/launch_arithmetic.h,
// which exported headers contain too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/launch/launch_arithmetic.h"
#include "core/problem/problem.h"

namespace gemm_tune {

constexpr bool operator==(const Grid& a, const Grid& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.piece_k == b.piece_k;
}

constexpr LaunchProblem launch_problem(const Problem& problem) {
  const Alignments aligned = alignments(problem);
  return {problem.M,           problem.N,
          problem.K,           alignment_class(problem),
          problem.layout,      problem.batch,
          problem.signature.a, problem.signature.b,
          problem.signature.d, aligned.a,
          aligned.b,           aligned.cd,
          problem.batch_kind,  problem.signature.accuracy};
}

constexpr Sameness sameness(const Problem& tuned, const Problem& asked) {
  if (tuned.epilogue != asked.epilogue || tuned.signature != asked.signature) return Sameness::none;
  return sameness(launch_problem(tuned), launch_problem(asked));
}

// sm_count: of the device that launches.
constexpr Grid grid_of(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  return grid_of(recipe, launch_problem(problem), sm_count);
}

// Bytes of global scratch memory for one launch; 0 if the kernel needs none. Launches that may
// overlap need separate workspaces.
constexpr std::int64_t workspace_bytes(const LaunchRecipe& recipe, const Problem& problem,
                                       int sm_count) {
  return workspace_bytes(recipe, launch_problem(problem), sm_count);
}

// What the recipe needs of each operand, for a kernel of this signature: of A and B that a launch
// before copies, their elements' size.
Alignment needed_alignment(const LaunchRecipe& recipe, const Signature& signature);

// Why the recipe may not be launched for the problem, as a sentence fragment; nullopt if it may.
std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem);

}  // namespace gemm_tune
