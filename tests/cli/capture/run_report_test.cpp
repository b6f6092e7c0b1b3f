// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/run_report.h"

#include "tests/matchers.h"

namespace gemm_tune {
namespace {

CalledProblems called_of(std::vector<CalledProblem> problems) {
  CalledProblems called;
  called.problems = std::move(problems);
  return called;
}

CalledProblem problem(const std::string& text, double flops, std::int64_t served) {
  CalledProblem called;
  called.function = "cublasSgemm";
  called.text = text;
  called.flops = flops;
  called.served = served;
  return called;
}

TEST(RunReportTest, SharesAreOfTheOperationsWhereNoTimeWasMeasured) {
  CalledProblems called = called_of({problem("a", 30, 2), problem("b", 20, 0)});
  called.problems[1].declined = {{"untuned", 2}};
  called.errors = {"/bin/x: broken"};
  EXPECT_EQ(run_report(called, ""),
            "gemm-tune: served 2 of 4 calls of cuBLAS, 60.0 % of their operations\n"
            "  left to cuBLAS 2, 40.0 % of their operations: untuned\n"
            "    cublasSgemm b: 2, 40.0 %\n"
            "  /bin/x: broken\n");
}

TEST(RunReportTest, SharesAreOfTheGpuTimeToo) {
  CalledProblems called =
      called_of({problem("a", 30, 2), problem("b", 20, 0), problem("c", 10, 0)});
  called.problems[0].gpu_us = 1;
  called.problems[1].gpu_us = 9;
  called.problems[1].declined = {{"odd", 1}, {"untuned", 1}};
  called.problems[2].declined = {{"untuned", 3}};  // 0.2 us for each operation: 6 us
  EXPECT_EQ(
      run_report(called, ""),
      "gemm-tune: served 2 of 7 calls of cuBLAS, 46.2 % of their operations and 7.7 % of their GPU "
      "time\n"
      "  the GPU time of 3 calls was not measured: operations count there\n"
      "  left to cuBLAS 1, 15.4 % of their operations and 34.6 % of their GPU time: odd\n"
      "    cublasSgemm b: 1, 34.6 %\n"
      "  left to cuBLAS 4, 38.5 % of their operations and 57.7 % of their GPU time: untuned\n"
      "    cublasSgemm b: 1, 34.6 %\n"
      "    cublasSgemm c: 3, 23.1 %\n");
}

TEST(RunReportTest, TheGainIsTheDatabases) {
  CalledProblems called =
      called_of({problem("a", 30, 2), problem("b", 20, 5), problem("c", 20, 0)});
  called.problems[0].expected_us = 900;
  called.problems[0].cublas_us = 1000;
  called.problems[2].expected_us = 50;  // declined
  called.problems[2].cublas_us = 40;
  EXPECT_THAT(run_report(called, ""),
              HasSubstr("\n  expected from the database: 1800 us where cuBLAS takes 2000 us, for "
                        "2 of the served calls\n"));
  called.problems[0].expected_us.reset();
  EXPECT_THAT(run_report(called, ""), Not(HasSubstr("expected")));
}

TEST(RunReportTest, ListsTheCostliestOfManyDeclinedProblems) {
  CalledProblems called;
  for (int i = 1; i <= 25; ++i) {
    called.problems.push_back(problem(std::to_string(i), i, 0));
    called.problems.back().declined = {{"odd", 1}};
  }
  const std::string text = run_report(called, "");
  EXPECT_THAT(text,
              HasSubstr(": odd\n    cublasSgemm 25: 1, 7.7 %\n    cublasSgemm 24: 1, 7.4 %\n"));
  EXPECT_THAT(
      text, HasSubstr("    cublasSgemm 6: 1, 1.8 %\n    and 5 more, which --report FILE lists\n"));
}

TEST(RunReportTest, WithoutCallsSaysWhyNoneMayHaveBeenSeen) {
  EXPECT_EQ(run_report({}, "; why"), "gemm-tune: no call of cuBLAS was seen; why\n");
}

}  // namespace
}  // namespace gemm_tune
