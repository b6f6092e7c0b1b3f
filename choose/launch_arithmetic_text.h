// SPDX-License-Identifier: Apache-2.0
// The text of core/launch_arithmetic.h between the braces of its namespace, for exported headers.
//
// The build writes the file that defines it (CMakeLists.txt). Constant; any thread.
#pragma once

namespace gemm_tune {

extern const char* const kLaunchArithmetic;

}  // namespace gemm_tune
