// SPDX-License-Identifier: Apache-2.0
// Shares as options take them: --gpu-share, --within. Pure.
#pragma once

#include <string>

namespace gemm_tune {

// "5%" or "0.05", from `least` to 1. Throws UsageError, which names the option.
double parse_share(const std::string& option, const std::string& text, double least = 0);

}  // namespace gemm_tune
