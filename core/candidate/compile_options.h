// SPDX-License-Identifier: Apache-2.0
// The compile options that affect a kernel's machine code: the same for every config and target.
//
// Part of the keys of compiled kernels (runtime/compile.h). A change here may change the machine
// code of every family, which then gets another revision. Constants; any thread.
#pragma once

namespace gemm_tune {

inline constexpr const char* kCodeOptions[] = {"--std=c++20", "-default-device"};

}  // namespace gemm_tune
