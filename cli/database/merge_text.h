// SPDX-License-Identifier: Apache-2.0
// The result of a merge as text: a line for each contradiction, and one with the rows.
#pragma once

#include <filesystem>

#include "db/transfer/merge.h"

namespace gemm_tune {

void print_merge(const MergeReport& merged, const std::filesystem::path& output);

}  // namespace gemm_tune
