// SPDX-License-Identifier: Apache-2.0
// The program's version, printed by --version and stored with every run.
#pragma once

namespace gemm_tune {

inline constexpr const char* kVersion = GT_VERSION;

}  // namespace gemm_tune
