// SPDX-License-Identifier: Apache-2.0
// The ladder of SGEMM kernels that tutorials climb, and further rungs to the kernels that the
// search finds, each a config of one of our families.
//
// Every rung changes one thing over an earlier one, so that the step between them tells what that
// thing is worth. The families have the rungs, and their order is that of the families. Any thread.
#pragma once

#include <vector>

#include "kernel_templates/family.h"

namespace gemm_tune {

// From the plainest to the fastest.
std::vector<Rung> ladder();

}  // namespace gemm_tune
