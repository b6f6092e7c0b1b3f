// SPDX-License-Identifier: Apache-2.0
// The compile options that affect a kernel's machine code: the same for every config and target.
//
// Part of a kernel's identity (kernel_templates/source.h), so that a change here makes stored
// results count as those of another kernel. Constants; any thread.
#pragma once

namespace gemm_tune {

inline constexpr const char* kCodeOptions[] = {"--std=c++20", "-default-device"};

}  // namespace gemm_tune
