// SPDX-License-Identifier: Apache-2.0
// How many candidates each step of a run left, and why it rejected the others. Plain counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gemm_tune {

using Reasons = std::map<std::string, std::uint64_t>;

std::uint64_t total(const Reasons& reasons);

// enumerated = rejected_by_rule + left. The search chose among `searched` candidates: all that were
// left, or an even sample of too many, together with those that earlier runs tried. `tried`
// candidates were compiled (the budget) or are `algorithms` of libraries, `recalled` of them tried
// in earlier runs; tried = compile_failed
// + rejected_by_resources + failed_on_gpu + failed_by_environment + survived + unfinished.
struct Funnel {
  std::uint64_t enumerated = 0;
  Reasons rejected_by_rule;  // structure, device limits, the problem's demands
  Reasons decisive;          // of these: what turned down the candidates that kept all other rules
  std::uint64_t left = 0;
  std::uint64_t searched = 0;
  std::uint64_t tried = 0;
  std::uint64_t algorithms = 0;
  std::uint64_t recalled = 0;
  Reasons compile_failed;  // the compiler refused, crashed, or ran past the limit
  Reasons rejected_by_resources;
  Reasons failed_on_gpu;          // by disposition: wrong_result, launch_failed, timed_out, crashed
  Reasons failed_by_environment;  // by detail; not stored: the next run tries them again
  std::uint64_t retried = 0;      // tasks repeated after a failure of the environment
  std::uint64_t survived = 0;     // verified and timed, or predicted without a GPU
  std::uint64_t unfinished = 0;   // given up at an interrupt or at the time limit
};

}  // namespace gemm_tune
