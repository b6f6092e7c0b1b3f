// SPDX-License-Identifier: Apache-2.0
// Diagnostics, on standard error. The one place that compiles spdlog, which is all templates here.
#pragma once

#include <string_view>

namespace gemm_tune {

// Before the first line is logged. Lines of log_debug appear only where verbose.
void log_to_standard_error(bool verbose);

void log_warning(std::string_view text);
void log_debug(std::string_view text);

}  // namespace gemm_tune
