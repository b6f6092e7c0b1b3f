// SPDX-License-Identifier: Apache-2.0
// The arguments of --sizes, --type, --layout and --batch: which problems to tune. Pure but for
// @file.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "core/problem.h"

namespace gemm_tune {

// The most problems in one list; a range that gives more is refused.
inline constexpr std::size_t kMaxSizes = 10'000;

// Parses a list of "1024" or "1024x1024" (a square), "4096x512x1024" (MxNxK), a problem's text
// ("1000x1000x1000:align=1", of a square also "1000:align=1"), "512:4096:512" (first:last:step,
// squares) and "@file" (one or more items per line, '#' starts a comment). Items are separated by
// commas, semicolons or blanks, also behind the last one; a file's name ends at a comma only. X,
// '*' and the multiplication sign are as good as x, and blanks may stand beside them. Drops
// duplicates and keeps the order. Throws UsageError naming the item; for a product in the notation
// of PyTorch or cuBLAS it says how to write it here.
std::vector<Problem> parse_sizes(std::string_view text, const ProblemDefaults& defaults = {});

// Parses "90" (seconds), "15:00" (minutes:seconds) or "1:30:00". Throws UsageError.
std::chrono::seconds parse_duration(std::string_view text);

}  // namespace gemm_tune
