// SPDX-License-Identifier: Apache-2.0
// The rule by which a candidate wins, and its constants.
//
// Finals time the best candidates of a search in turn and rank them by rank_finalists(). The ranks
// are stored; the view `winners` of db/schema/schema.sql, look-ups, exports and reports read them
// and judge nothing again. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"

namespace gemm_tune {

// Which candidate wins: the first by the ranks of its objective whose error is within the limit.
struct WinnerRule {
  Objective objective = Objective::hot;
  std::optional<double> max_error = {};  // at most so many times cuBLAS's error; nullopt: any

  friend bool operator==(const WinnerRule&, const WinnerRule&) = default;
};

// Differences of time below this are no reason to prefer one kernel to another: two runs of the
// program place operands differently and find other temperatures.
inline constexpr double kTieMargin = 0.01;

// A single timing and a timing in turn with others differ by less than this factor, so that all
// candidates within it take part in finals. The winner is no slower than the fastest by more.
inline constexpr double kReach = 1.03;

// The same where L2 does not hold the matrices and multiplications take longer than the memory. Of
// 53 such searches none had a kernel that was faster cold and more than 1 % slower hot, and single
// timings of these slow kernels are within .7 % of those of finals
// (docs/notes/search/search_cost.md).
inline constexpr double kReachBeyondL2 = 1.015;

// From so many multiplications and additions for each byte of the matrices on, the memory bounds no
// fp32 product: an H100 reads a byte in the time of 20, an RTX 4090 of 80.
inline constexpr double kMultiplyBound = 100;

// So many take part at least, because single timings may mislead, and at most, because each takes
// the GPU for up to 31 samples.
inline constexpr std::size_t kMinFinalists = 8, kMaxFinalists = 24;

// A candidate that finals timed. Its outcome has a timing, and a ranking that says whether it is
// tied with the fastest.
struct Finalist {
  std::string config;
  Outcome* outcome = nullptr;
  bool in_last_round = true;  // false: timed in turn with others in an earlier round only
};

// A percent of hot time is worth so many of cold time to a winner by hot times: with equal weights
// an eighth of the winners was more than 1 % slower hot than another finalist, and by hot times
// alone they are 2.4 % slower cold, one of them by two thirds (docs/notes/search/hot_and_cold.md).
inline constexpr double kHotWeight = 6;

// Sets the ranks. By hot times: those of the last round that are at most kReach times as slow as
// the fastest and have a cold time and an error come first, in the order of
// kHotWeight log(time) + log(cold time), because a small loss hot may spare much cold; where the
// fastest lacks one of these, none does. The others follow by time. By cold times: those that have
// one, by it. Equal ones are in the order of their configs' texts. The winner counts as tied.
void rank_finalists(const std::vector<Finalist>& finalists);

// Whether the candidate is not to be told from the winner by the times of the objective: by what
// finals found of hot times, by kTieMargin of cold ones.
bool is_tied_with(const Outcome& winner, const Outcome& candidate, Objective objective);

// The rank by the objective, from 1; nullopt without one.
std::optional<int> rank_by(Objective objective, const Outcome& outcome);

}  // namespace gemm_tune
