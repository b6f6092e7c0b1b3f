// SPDX-License-Identifier: Apache-2.0
// A choice as the C interface gives it.
//
// Pure; any thread.
#pragma once

#include "choose/choose.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

// All but the config's text, which is empty.
gt_recipe recipe_of(const Choice& choice, const DeviceKey& device, const Problem& problem);

}  // namespace gemm_tune
