// SPDX-License-Identifier: Apache-2.0
// The program's version, as --version prints it and every row of a run names it.
#pragma once

namespace gemm_tune {

inline constexpr const char* kVersion = GT_VERSION;

}  // namespace gemm_tune
