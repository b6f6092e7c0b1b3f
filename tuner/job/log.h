// SPDX-License-Identifier: Apache-2.0
// Diagnostics on standard error. Only this file compiles spdlog, whose templates take long.
#pragma once

#include <string_view>

namespace gemm_tune {

// Call it before the first line is logged. verbose: whether lines of log_debug appear.
void log_to_standard_error(bool verbose);

void log_warning(std::string_view text);
void log_debug(std::string_view text);

}  // namespace gemm_tune
