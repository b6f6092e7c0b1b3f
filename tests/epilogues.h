// SPDX-License-Identifier: Apache-2.0
// Epilogues that tests use often.
#pragma once

#include "core/problem/epilogue.h"

namespace gemm_tune {

inline constexpr Epilogue kBiasColumn = *find_epilogue("bias_column");
inline constexpr Epilogue kBiasColumnRelu = *find_epilogue("bias_column+relu");

}  // namespace gemm_tune
