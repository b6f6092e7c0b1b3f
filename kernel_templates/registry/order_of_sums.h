// SPDX-License-Identifier: Apache-2.0
// The order in which a config adds up an element of D. Pure; any thread.
//
// An element is rounded by the instructions that add to it, in their order, and by nothing that
// they compute beside it. A family either says how that follows from its parameters, in a function
// order_of_sums() of its folder, or its kernels serve no call whose bits must not depend on M.
#pragma once

#include <optional>
#include <string>

#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// Equal texts of two configs of one signature and layout: the bits of each element are equal,
// whatever M is and wherever in D the element lies. Nothing where M or the place decides, and of
// families that do not say.
std::optional<std::string> order_of_sums(const KnownConfig& config);

}  // namespace gemm_tune
