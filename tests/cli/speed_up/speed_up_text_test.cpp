// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/speed_up_text.h"

#include "cli/speed_up/speed_up_options.h"
#include "kernel_templates/registry/registry.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

CalledProblem of_program(const std::string& text, std::int64_t calls,
                         std::optional<double> gpu_us) {
  CalledProblem called;
  called.problem = parse_problem(text);
  called.text = text;
  called.flops = flops(*called.problem);
  called.declined = {{"untuned", calls}};
  called.tunable = calls;
  called.gpu_us = gpu_us;
  return called;
}

TEST(SpeedUpTextTest, CallsThatWereNotTimedCountByTheirOperations) {
  CalledProblems called;
  called.problems = {of_program("64x64x64", 10, 3.0), of_program("128x64x64", 2, std::nullopt)};
  EXPECT_EQ(calls_of(called), 12);
  EXPECT_DOUBLE_EQ(gemm_us(called).value(), 30 + 2 * 6);
  called.problems[0].gpu_us.reset();
  EXPECT_FALSE(gemm_us(called));
}

TEST(SpeedUpTextTest, TheCostliestProductsStandFirstBesideTheModelsTime) {
  CalledProblems called;
  for (int i = 1; i <= 10; ++i) {
    called.problems.push_back(of_program(std::to_string(64 * i) + "x64x64", 1, 100.0 * i));
  }
  const std::string text =
      products_text(wanted_problems(called), find_device_spec("sm_90").value());
  EXPECT_THAT(text, ContainsRegex("share +calls +a call +model  product\n"
                                  " +18\\.2 % +1 +1\\.00 ms +[0-9.]+ us  640x64x64\n"));
  EXPECT_THAT(text, HasSubstr("  and 2 more\n"));
  EXPECT_THAT(text, ContainsRegex("the static model expects [0-9.]+ us of these 5\\.50 ms "
                                  "\\(predicted, not timed\\)\n"));
}

TEST(SpeedUpTextTest, AComparisonHasWhatIsKnownOfBothRuns) {
  EXPECT_EQ(comparison_text({71.3, 40.2e6, 12000}, {61.2, 33.1e6, 12000}),
            "                          before      served\n"
            "  wall time               71.3 s      61.2 s   1.165\n"
            "  GPU time of GEMM        40.2 s      33.1 s   1.215\n");
  EXPECT_EQ(comparison_text({90, std::nullopt, 1}, {3600 * 3.0, std::nullopt, 2}),
            "                          before      served\n"
            "  wall time               90.0 s      3.00 h   0.008\n"
            "  the program multiplied 1 times before and 2 times served\n");
}

TEST(SpeedUpTextTest, WhatWasFoundIsTheKernelThatWouldServe) {
  ProblemReport report;
  report.problem = parse_problem("64x64x64");
  EXPECT_THAT(found_text(report, true), Not(HasSubstr(" us")));
  TuneWinner winner{check_config(parse_config("naive/BM=16,BN=16,COALESCED=1,PRED=0")), {}, {}};
  winner.outcome.timing = Timing{};
  winner.outcome.timing->median_us = 9;
  winner.baselines.push_back({"cublasSgemm", "13.1.0", {}});
  winner.baselines.back().timing.median_us = 10;
  report.winner = winner;
  EXPECT_EQ(found_text(report, true), "9.00 us, 1.111 of cublasSgemm");
  report.winner->baselines.back().timing.median_us = 8.1;
  EXPECT_EQ(found_text(report, true), "9.00 us, 0.900 of cublasSgemm, which stays");
}

TEST(ShortNameTest, OfALongCommandTheProgramsFolderIsLeftOutFirst) {
  EXPECT_EQ(short_name("/usr/bin/python3 train.py"), "/usr/bin/python3 train.py");
  EXPECT_EQ(short_name("/home/somebody/environments/torch/bin/python3 train.py"),
            ".../python3 train.py");
  EXPECT_EQ(short_name("python3 train.py --rate 0.001 --data /somewhere"),
            "python3 train.py --rate 0.001 --data ...");
}

}  // namespace
}  // namespace gemm_tune
