// SPDX-License-Identifier: Apache-2.0
// A choice as the C interface gives it.
//
// Pure; any thread.
#pragma once

#include "choose/choose.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

gt_recipe recipe_of(const Choice& choice, const DeviceKey& device, const Problem& problem);

// Copies what fits, always terminated.
void copy_text(char* target, std::size_t capacity, const char* text);

}  // namespace gemm_tune
