// SPDX-License-Identifier: Apache-2.0
// The ladder of SGEMM kernels that tutorials climb, and further rungs to the kernels that the
// search finds, each a config of one of our families.
//
// Every rung changes one thing over an earlier one, so that the step between them tells what that
// thing is worth. Texts only: check_config() makes kernels of them. Immutable; any thread.
#pragma once

#include <span>
#include <string_view>

namespace gemm_tune {

struct Rung {
  std::string_view name;     // for reports: "shared memory 16x16"
  std::string_view config;   // canonical text
  std::string_view teaches;  // one line: what the step to this rung shows
};

// From the plainest to the fastest.
std::span<const Rung> ladder();

}  // namespace gemm_tune
