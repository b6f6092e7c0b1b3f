// SPDX-License-Identifier: Apache-2.0
// The exit code of a search, by what became of its problems.
#include "cli/output/exit_code.h"

#include <gtest/gtest.h>

#include "cli/tune/tune_output.h"

namespace gemm_tune {
namespace {

ProblemReport won() {
  ProblemReport problem;
  problem.funnel.tried = problem.funnel.survived = 5;
  problem.winner.emplace();
  return problem;
}

ProblemReport lost(CutShort cut_short, std::uint64_t tried, std::uint64_t unfinished) {
  ProblemReport problem;
  problem.cut_short = cut_short;
  problem.funnel.tried = tried;
  problem.funnel.unfinished = unfinished;
  return problem;
}

int code_of(const std::vector<ProblemReport>& problems) {
  TuneReport report;
  report.problems = problems;
  return exit_code(report);
}

TEST(ExitCodeTest, AProblemThatTheTimeDidNotReachHasNotFailedWhereOthersHaveWinners) {
  const ProblemReport untried = lost(CutShort::by_time_limit, 2, 2);
  EXPECT_EQ(code_of({won(), untried}), kExitOk);
  EXPECT_EQ(code_of({untried}), kExitNothingSurvived);
  EXPECT_EQ(code_of({won(), lost(CutShort::by_time_limit, 2, 1)}), kExitNothingSurvived);
  EXPECT_EQ(code_of({won(), lost(CutShort::no, 0, 0)}), kExitNothingSurvived);
  EXPECT_EQ(code_of({won(), won()}), kExitOk);
}

}  // namespace
}  // namespace gemm_tune
