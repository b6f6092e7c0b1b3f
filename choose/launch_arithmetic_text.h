// SPDX-License-Identifier: Apache-2.0
// The texts of core/launch/launch_arithmetic.h and of the headers that it includes, between the
// braces of their namespace, for exported headers.
//
// The build writes the file that defines it (CMakeLists.txt). Constant; any thread.
#pragma once

namespace gemm_tune {

extern const char* const kLaunchArithmetic;

}  // namespace gemm_tune
