// SPDX-License-Identifier: Apache-2.0
// Turns a program's failures into one sentence and an exit code; all of them are printed here.
#pragma once

#include <functional>
#include <string>

namespace gemm_tune {

// Prints the sentence about a failure, and returns the code.
int tell_failure(const std::string& sentence, int code);

// The exit code of `run`, or that of the exception that it throws, which is printed.
int with_failures_told(const std::function<int()>& run);

}  // namespace gemm_tune
