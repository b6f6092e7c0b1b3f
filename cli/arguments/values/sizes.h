// SPDX-License-Identifier: Apache-2.0
// The arguments of --sizes, --type, --layout and --batch: which problems to tune. Pure but for
// @file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem/problem.h"
#include "tuner/range/m_range.h"

namespace gemm_tune {

// The most problems in one list; a range that gives more is refused.
inline constexpr std::size_t kMaxSizes = 10'000;

// Parses a list of "1024" or "1024x1024" (a square), "4096x512x1024" (MxNxK), a problem's text
// ("1000x1000x1000:align=4", of a square also "1000:align=4"), "512:4096:512" (first:last:step,
// squares) and "@file" (one or more items per line, of which three whole numbers are M, N and K;
// '#' starts a comment). Items are separated by commas, semicolons or blanks, also behind the last
// one; a file's name ends at a comma only, and not there where a file of the longer name exists.
// X, '*' and the multiplication sign are as good as x, and blanks may stand beside them. Drops
// duplicates and keeps the order. Throws UsageError naming the item; for a product in the notation
// of PyTorch or cuBLAS it says how to write it here.
std::vector<Problem> parse_sizes(std::string_view text, const ProblemDefaults& defaults = {});

// "1:256". Throws UsageError.
MRange parse_m_range(std::string_view text);

// The same list, but of "11008x4096" (NxK), "4096" (N = K) and "@file", the sizes perhaps followed
// by parts of a problem's text ("11008x4096:layout=nt"). Makes of each one problem for every M,
// which are ascending. Throws UsageError naming the item.
std::vector<std::vector<Problem>> parse_sizes_without_m(std::string_view text,
                                                        const std::vector<std::int64_t>& all_m,
                                                        const ProblemDefaults& defaults);

// The sizes in a file, as parse_sizes() takes "@file". Throws UsageError.
std::vector<Problem> read_sizes(const std::string& path, const ProblemDefaults& defaults = {});

// Problems, and what each is worth beside the others.
struct WeightedProblems {
  std::vector<Problem> problems;
  std::vector<double> weights;  // as many; empty: all alike
};

// The same of a file that `capture` wrote: a problem's weight is its GPU time, where that was not
// measured as much as its operations take on average; of a line without either the least of all.
WeightedProblems read_capture(const std::string& path, const ProblemDefaults& defaults = {});

// Parses "90" (seconds), "15:00" (minutes:seconds) or "1:30:00". Throws UsageError.
std::chrono::seconds parse_duration(std::string_view text);

}  // namespace gemm_tune
