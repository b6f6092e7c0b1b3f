// SPDX-License-Identifier: Apache-2.0
// The text of core/launch_arithmetic.h between the braces of its namespace, for exported headers.
//
// Defined in a file that the build writes (CMakeLists.txt). Constant; any thread.
#pragma once

namespace gemm_tune {

extern const char* const kLaunchArithmetic;

}  // namespace gemm_tune
