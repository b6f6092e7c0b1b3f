// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/report.h"

#include <sstream>
#include <vector>

#include "tests/matchers.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/summary.h"

namespace gemm_tune {
namespace {

ProblemReport report() {
  ProblemReport report;
  report.problem = packed_problem(1024, 1024, 1024);
  report.funnel.enumerated = 1'234'567;
  report.funnel.rejected_by_rule = {{"few", 3}, {"many", 1'234'464}};
  report.funnel.left = report.funnel.searched = 100;
  report.funnel.tried = 50;
  report.funnel.rejected_by_resources = {{"registers spill to local memory", 8}};
  report.funnel.survived = 42;
  TuneWinner winner{check_config(parse_config("naive/BM=16,BN=16,COALESCED=1,PRED=0")), {}, {}};
  winner.outcome.predicted_us = 100;
  report.winner = winner;
  return report;
}

Target target(bool measurable) {
  return {find_device_spec("sm_86").value(), measurable, {}, "", "no GPU was found"};
}

TEST(ReportTextTest, ATimeHasTheUnitThatFits) {
  EXPECT_EQ(duration_text(2.63141), "2.6314 us");
  EXPECT_EQ(duration_text(99999), "99999 us");
  EXPECT_EQ(duration_text(340210), "340.21 ms");
  EXPECT_EQ(duration_text(7.095e7), "70.95 s");
}

TEST(ReportTest, FunnelShowsEveryStepWithTheCommonestReasonFirst) {
  const std::string text = problem_text(report(), target(false));
  EXPECT_THAT(text, HasSubstr("enumerated                 1,234,567"));
  EXPECT_LT(text.find("1,234,464  many"), text.find("3  few"));
  EXPECT_THAT(text, HasSubstr("50   50 % of those left"));
  EXPECT_THAT(text, HasSubstr("8  registers spill to local memory"));
}

TEST(ReportTest, ASampleOfTheSpaceIsCalledOne) {
  ProblemReport sampled = report();
  EXPECT_THAT(problem_text(sampled, target(true)), Not(HasSubstr("sample")));
  sampled.funnel.left = 34'567'890;
  sampled.funnel.searched = 1'000'000;
  EXPECT_THAT(problem_text(sampled, target(true)),
              HasSubstr("  left                      34,567,890\n"
                        "  of these searched          1,000,000   an even sample: too many to "
                        "keep\n"));
  EXPECT_EQ(problem_json(sampled, target(true)).at("funnel").at("left"), 34'567'890);
  EXPECT_EQ(problem_json(sampled, target(true)).at("funnel").at("searched"), 1'000'000);
}

TEST(ReportTest, SaysWhatWasSpentAndWhatMoreWouldLikelyBuy) {
  ProblemReport spent = report();
  spent.budget = 50;
  spent.seconds = 12.34;
  EXPECT_THAT(problem_text(spent, target(true)),
              AllOf(HasSubstr("  spent    50 of 50 tries, 12.3 s\n"), Not(HasSubstr("more"))));
  EXPECT_EQ(problem_json(spent, target(true)).at("expected_gain"), nullptr);
  spent.budget = 447;
  spent.target_met = true;
  spent.expected_gain = ExpectedGain{397, 0.0123};
  EXPECT_THAT(problem_text(spent, target(true)),
              HasSubstr("  spent    50 of 447 tries, 12.3 s: the target is met\n"
                        "  more     397 tries would likely gain 1.2 %\n"));
  EXPECT_THAT(problem_text(spent, target(false)),
              HasSubstr("would likely gain 1.2 % (predicted, not timed)\n"));
  const nlohmann::json json = problem_json(spent, target(true));
  EXPECT_EQ(json.at("budget"), 447);
  EXPECT_EQ(json.at("target_met"), true);
  EXPECT_EQ(json.at("expected_gain"), (nlohmann::json{{"tries", 397}, {"gain", 0.0123}}));
}

TEST(ReportTest, SaysWhereThePriorCameFrom) {
  ProblemReport guided = report();
  EXPECT_THAT(problem_text(guided, target(true)), Not(HasSubstr("prior")));
  EXPECT_EQ(problem_json(guided, target(true)).at("prior"), nullptr);
  guided.prior.emplace();
  EXPECT_THAT(problem_text(guided, target(true)), HasSubstr("  prior    static model\n"));
  guided.prior = {{{}, packed_problem(512, 512, 512), 1300}};
  EXPECT_THAT(problem_text(guided, target(true)),
              HasSubstr("  prior    static model, and 1,300 timings at 512x512x512\n"));
  guided.prior->push_back({"NVIDIA A10", packed_problem(1024, 1024, 1024), 80});
  for (const int edge : {256, 128, 64}) {
    guided.prior->push_back({{}, packed_problem(edge, edge, edge), 20});
  }
  EXPECT_THAT(problem_text(guided, target(true)),
              HasSubstr("  prior    static model, and 1,300 timings at 512x512x512, 80 on NVIDIA "
                        "A10, 20 at 256x256x256 and 40 elsewhere\n"));
  const nlohmann::json prior = problem_json(guided, target(true)).at("prior");
  EXPECT_EQ(prior.at("static_model"), true);
  EXPECT_EQ(prior.at("timings").size(), 5u);
  EXPECT_EQ(
      prior.at("timings").at(1),
      (nlohmann::json{{"problem", "1024x1024x1024"}, {"device", "NVIDIA A10"}, {"count", 80}}));
}

TEST(ReportTest, SaysWhereTheModelWasNeverMeasured) {
  EXPECT_THAT(problem_text(report(), target(true)),
              HasSubstr("  model    the model's constants for sm_86 come from data sheets, or are "
                        "those of sm_90: never measured here\n"));
  EXPECT_EQ(problem_json(report(), target(true)).at("model_measured_on"), nullptr);
  EXPECT_THAT(problem_text(report(), target(false)),
              HasSubstr("  kernels  compiled for sm_86 and emulated by the project's tests, never "
                        "executed on one\n"));
  EXPECT_EQ(problem_json(report(), target(false)).at("kernels_executed_on_arch"), false);
  // Those that were just timed.
  EXPECT_THAT(problem_text(report(), target(true)), Not(HasSubstr("never executed")));
  EXPECT_EQ(problem_json(report(), target(true)).at("kernels_executed_on_arch"), true);
  Target hopper = target(true);
  hopper.spec = find_device_spec("sm_90").value();
  EXPECT_THAT(problem_text(report(), hopper), Not(HasSubstr("never measured")));
  EXPECT_THAT(problem_text(report(), hopper), Not(HasSubstr("never executed")));
  EXPECT_EQ(problem_json(report(), hopper).at("model_measured_on"), "NVIDIA H100 80GB HBM3");
  ProblemReport half = report();
  half.problem.signature = signature_of(ElementType::f16);
  EXPECT_THAT(problem_text(half, hopper), Not(HasSubstr("never measured")));
  EXPECT_EQ(problem_json(half, hopper).at("model_measured_on"), "NVIDIA H100 80GB HBM3");
  hopper.measurable = false;
  EXPECT_THAT(result_line(half, hopper), EndsWith("(predicted, not timed)"));
}

TEST(ReportTest, APredictionIsLabelledEverywhere) {
  EXPECT_THAT(problem_text(report(), target(false)),
              HasSubstr("100 us, 21.5 TFLOP/s (predicted, not timed)"));
  EXPECT_EQ(problem_json(report(), target(false)).at("note"), "predicted, not timed");
  EXPECT_EQ(how_to_time(target(false), "gemm-tune tune --arch sm_86 --sizes 1024 --db 'a b'"),
            "predicted, not timed: no GPU was found\n"
            "to time them, run on a machine with an sm_86 GPU:\n"
            "  gemm-tune tune --arch sm_86 --sizes 1024 --db 'a b'\n");
}

TEST(ReportTest, AMeasuredWinnerStandsBesideItsBaseline) {
  ProblemReport measured = report();
  measured.winner->outcome.timing = Timing{50, {50}, 4};
  measured.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5}}};
  const std::string text = problem_text(measured, target(true));
  EXPECT_THAT(text, HasSubstr("50 us, 42.9 TFLOP/s; cublasSgemm 13.1.0 40 us"));
  EXPECT_THAT(text, HasSubstr("0.800 of its speed"));
  EXPECT_THAT(text, Not(HasSubstr("predicted, not timed")));
}

TEST(ReportTest, AnErrorStandsBesideThoseOfTheBaselines) {
  ProblemReport measured = report();
  measured.winner->outcome.timing = Timing{50, {50}, 4};
  measured.winner->outcome.error = 3e-7;
  measured.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5}, 2e-7},
                                {"cublasLt", "13.1.0", {60, {60}, 5}, 3e-7, 37}};
  EXPECT_THAT(
      problem_text(measured, target(true)),
      HasSubstr("\n           error 3e-07: 1.5 of cublasSgemm 13.1.0's, 1 of cublasLt 13.1.0 "
                "(best of 37 heuristics)'s\n"));
  const nlohmann::json winner = problem_json(measured, target(true)).at("winner");
  EXPECT_EQ(winner.at("error"), 3e-7);
  EXPECT_EQ(winner.at("baselines").at(0).at("error"), 2e-7);
  EXPECT_DOUBLE_EQ(winner.at("baselines").at(0).at("error_ratio").get<double>(), 1.5);
  EXPECT_EQ(problem_json(measured, target(true)).at("error_limit"), nullptr);
}

TEST(ReportTest, WhereColdTimesDecideTheReportSaysSoAndTheLineHasThem) {
  ProblemReport cold = report();
  cold.objective = Objective::cold;
  cold.winner->outcome.timing = Timing{50, {50}, 4};
  cold.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5}}};
  EXPECT_THAT(
      problem_text(cold, target(true)),
      HasSubstr("           by its hot time: cold operands are too small or too large to be "
                "rotated\n"));
  EXPECT_THAT(result_line(cold, target(true)), HasSubstr("  50 us  42.9 TFLOP/s  0.800 of"));
  cold.winner->outcome.timing->cold_us = 64;
  cold.winner->baselines[0].timing.cold_us = 80;
  EXPECT_THAT(problem_text(cold, target(true)), HasSubstr("           by its cold time\n"));
  EXPECT_THAT(result_line(cold, target(true)), HasSubstr("  64 us  33.6 TFLOP/s  1.250 of"));
  EXPECT_EQ(problem_json(cold, target(true)).at("objective"), "cold");
}

TEST(ReportTest, ALimitOfErrorsSaysHowManyFasterCandidatesItPassedOver) {
  ProblemReport limited = report();
  limited.error_limit = {1.25, 1234, 0.5};
  EXPECT_THAT(problem_text(limited, target(true)),
              HasSubstr("  limit    errors within 1.25 of cuBLAS's: 1,234 faster candidates passed "
                        "over\n"));
  EXPECT_EQ(problem_json(limited, target(true)).at("error_limit"),
            (nlohmann::json{{"ratio", 1.25}, {"passed_over", 1234}, {"least", 0.5}}));
}

TEST(ReportTest, WhereNoCandidateIsWithinTheLimitTheLeastErrorIsNamed) {
  ProblemReport none = report();
  none.winner.reset();
  none.funnel.survived = 7;
  none.error_limit = {1, 7, 1.314};
  EXPECT_THAT(why_no_winner(none),
              AllOf(HasSubstr("--max-error 1"), HasSubstr("1.31 of cuBLAS's")));
  none.error_limit->least.reset();
  EXPECT_THAT(why_no_winner(none),
              AllOf(HasSubstr("--max-error 1"), HasSubstr("no error is known")));
  none.funnel.survived = 0;
  EXPECT_EQ(why_no_winner(none), "no candidate survived");
}

TEST(ReportTest, AnAbsentBaselineIsNamedWithItsReason) {
  ProblemReport one = report();
  one.absent_baselines = {"cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED"};
  EXPECT_NE(problem_text(one, target(true))
                .find("  without the baseline cublasGemmEx-autotuned 13.1.0: "
                      "CUBLAS_STATUS_NOT_SUPPORTED\n"),
            std::string::npos);
  EXPECT_EQ(problem_json(one, target(true)).at("absent_baselines").at(0),
            "cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED");
}

TEST(ReportTest, EachFurtherBaselineHasALineOfItsOwn) {
  ProblemReport measured = report();
  measured.winner->outcome.timing = Timing{50, {50}, 4};
  measured.winner->outcome.timing->cold_us = 64;
  measured.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5}},
                                {"cublasLt", "13.1.0", {60, {60}, 5}, {}, 37}};
  measured.winner->baselines[1].timing.cold_us = 80;
  EXPECT_THAT(problem_text(measured, target(true)),
              HasSubstr("           50 us, 42.9 TFLOP/s; cublasSgemm 13.1.0 40 us, 53.7 TFLOP/s: "
                        "0.800 of its speed;\n"
                        "             cublasLt 13.1.0 (best of 37 heuristics) 60 us, 35.8 TFLOP/s: "
                        "1.200 of its speed\n"
                        "           cold 64 us, 33.6 TFLOP/s; cublasLt 13.1.0 (best of 37 "
                        "heuristics) 80 us, 26.8 TFLOP/s: 1.250 of its speed\n"));
  const nlohmann::json winner = problem_json(measured, target(true)).at("winner");
  ASSERT_EQ(winner.at("baselines").size(), 2u);
  EXPECT_EQ(winner.at("baselines").at(0).at("cold_speedup"), nullptr);
  EXPECT_EQ(winner.at("baselines").at(1),
            (nlohmann::json{{"name", "cublasLt 13.1.0 (best of 37 heuristics)"},
                            {"error", nullptr},
                            {"error_ratio", nullptr},
                            {"time_us", 60.0},
                            {"cold_us", 80.0},
                            {"speedup", 1.2},
                            {"cold_speedup", 1.25}}));
}

Outcome with_samples(std::vector<double> samples_us) {
  Outcome outcome;
  outcome.timing = Timing{50, std::move(samples_us), 4};
  return outcome;
}

TEST(ReportTest, ATimeHasItsIntervalFromSixSamplesOn) {
  const Problem problem = packed_problem(1024, 1024, 1024);
  EXPECT_EQ(time_text(problem, with_samples({49, 49.5, 50, 50, 50.5})), "50 us, 42.9 TFLOP/s");
  EXPECT_EQ(time_text(problem, with_samples({49, 49.5, 50, 50, 50.5, 51.25})),
            "50 us (95 %: 49 to 51.25), 42.9 TFLOP/s");
}

TEST(ReportTest, ColdTimeTieSetAndDisturbanceFollow) {
  const Problem problem = packed_problem(1024, 1024, 1024);
  Outcome outcome = with_samples({50});
  EXPECT_EQ(measured_details(problem, outcome, {}, {}, "  "), "");
  outcome.timing->cold_us = 100;
  outcome.timing->disturbance = "2 of 15 samples under power brake";
  Baseline baseline{"cublasSgemm", "13.1.0", {40, {40}, 5}};
  baseline.timing.cold_us = 80;
  EXPECT_EQ(measured_details(problem, outcome, {baseline}, {"a", "b"}, "  "),
            "  cold 100 us, 21.5 TFLOP/s; cublasSgemm 13.1.0 80 us, 26.8 TFLOP/s: 0.800 of its "
            "speed\n"
            "  tied with: a\n"
            "             b\n"
            "  disturbed: 2 of 15 samples under power brake\n");
}

TEST(ReportTest, FiveOfATieSetAreNamedAndTheRestCounted) {
  const std::string text = measured_details(packed_problem(8, 8, 8), with_samples({50}), {},
                                            {"a", "b", "c", "d", "e", "f", "g"}, "");
  EXPECT_THAT(text, HasSubstr("tied with: a\n"));
  EXPECT_THAT(text, HasSubstr("           e\n           and 2 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("f")));
}

TEST(ReportTest, ProgramsGetTheSame) {
  ProblemReport measured = report();
  measured.winner->outcome = with_samples({49, 49.5, 50, 50, 50.5, 51.25});
  measured.winner->outcome.timing->cold_us = 100;
  measured.winner->outcome.timing->conditions = GpuConditions{1980, 650.5, 61};
  measured.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5}}};
  measured.tied = {*measured.winner};
  const nlohmann::json winner = problem_json(measured, target(true)).at("winner");
  EXPECT_EQ(winner.at("time_us"), 50);
  EXPECT_EQ(winner.at("interval_us"), (nlohmann::json{49, 51.25}));
  EXPECT_EQ(winner.at("cold_us"), 100);
  EXPECT_EQ(winner.at("conditions").at("sm_mhz"), 1980);
  EXPECT_EQ(winner.at("disturbance"), "");
  EXPECT_EQ(winner.at("tied"), nlohmann::json{"naive/BM=16,BN=16,COALESCED=1,PRED=0"});
  EXPECT_EQ(winner.at("baselines").at(0).at("time_us"), 40);
  EXPECT_EQ(winner.at("baselines").at(0).at("cold_us"), nullptr);
}

TEST(SummaryTest, AResultIsOneLine) {
  ProblemReport one = report();
  EXPECT_EQ(result_line(one, target(false)),
            "1024x1024x1024  naive/BM=16,BN=16,COALESCED=1,PRED=0  100 us  21.5 TFLOP/s  "
            "(predicted, not timed; model never measured on sm_86)");
  Target h100 = target(false);
  h100.spec = find_device_spec("sm_90").value();
  EXPECT_EQ(result_line(one, h100),
            "1024x1024x1024  naive/BM=16,BN=16,COALESCED=1,PRED=0  100 us  21.5 TFLOP/s  "
            "(predicted, not timed)");
  one.winner->outcome.timing = Timing{50, {50}, 4};
  EXPECT_EQ(result_line(one, target(true)),
            "1024x1024x1024  naive/BM=16,BN=16,COALESCED=1,PRED=0  50 us  42.9 TFLOP/s");
  one.winner->baselines = {{"cublasSgemm", "13.1.0", {60, {60}, 5}},
                           {"cublasLt", "13.1.0", {40, {40}, 5}, {}, 37}};
  EXPECT_EQ(result_line(one, target(true)),
            "1024x1024x1024  naive/BM=16,BN=16,COALESCED=1,PRED=0  50 us  42.9 TFLOP/s  "
            "0.800 of cublasLt");
  one.winner.reset();
  EXPECT_EQ(
      result_line(one, target(true)),
      "1024x1024x1024  no candidate survived: registers spill to local memory (8 of 50 tried)");
  one.funnel.compile_failed = {{"kernel.cu(3): error: \x1b[31m\nand more", 42}};
  EXPECT_EQ(
      result_line(one, target(true)),
      "1024x1024x1024  no candidate survived: kernel.cu(3): error: \\x1b[31m (42 of 50 tried)");
  one.funnel = Funnel();
  EXPECT_EQ(result_line(one, target(true)),
            "1024x1024x1024  no candidate survived: no family that is tried has kernels of these "
            "types");
  one.funnel.enumerated = 1200;
  one.funnel.rejected_by_rule = {{"few", 200}, {"many", 1000}};
  EXPECT_EQ(result_line(one, target(true)),
            "1024x1024x1024  no candidate survived: many (1,000 of 1,200 enumerated)");
  one.failure = "it needs 90 GiB";
  EXPECT_EQ(result_line(one, target(true)), "1024x1024x1024  it needs 90 GiB");
}

TEST(SummaryTest, AProblemWhoseSearchWasCutShortSaysSo) {
  ProblemReport none = report();
  none.winner.reset();
  none.cut_short = CutShort::by_time_limit;
  EXPECT_EQ(result_line(none, target(true)),
            "1024x1024x1024  no candidate survived before the time ran out: registers spill to "
            "local memory (8 of 50 tried)");
  none.funnel = Funnel();
  none.funnel.enumerated = none.funnel.left = none.funnel.searched = 1200;
  none.funnel.tried = none.funnel.unfinished = 2;
  const std::string why = "the time ran out before a candidate was tried";
  EXPECT_EQ(result_line(none, target(true)), "1024x1024x1024  " + why);
  EXPECT_THAT(problem_text(none, target(true)), HasSubstr("  " + why + "\n"));
  EXPECT_THAT(results_table({none}, target(true)), HasSubstr("  " + why + "\n"));
  EXPECT_EQ(problem_json(none, target(true)).at("cut_short"), "time");
  none.cut_short = CutShort::by_interruption;
  EXPECT_EQ(result_line(none, target(true)),
            "1024x1024x1024  the run was interrupted before a candidate was tried");
  EXPECT_EQ(problem_json(report(), target(true)).at("cut_short"), nullptr);
}

TEST(SummaryTest, SeveralProblemsAreATableOfEightyColumns) {
  std::vector<ProblemReport> all = {report(), report(), report()};
  all[1].problem = parse_problem("100000x64x64:layout=nt:batch=8");
  all[0].winner->outcome.timing = all[1].winner->outcome.timing = Timing{5012.4, {5012.4}, 4};
  all[0].winner->baselines = {{"cublasSgemm", "13.1.0", {4009.92, {4009.92}, 5}}};
  all[2].winner.reset();
  const std::string text = results_table(all, target(true));
  EXPECT_EQ(text,
            "3 problems on NVIDIA RTX A6000 (sm_86)\n"
            "problem                         family                 us  TFLOP/s  of cuBLAS\n"
            "1024x1024x1024                  naive              5012.4    0.428      0.800\n"
            "100000x64x64:layout=nt:batch=8  naive              5012.4     1.31\n"
            "1024x1024x1024                  no candidate survived\n");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(results_table(all, target(false)),
              AllOf(HasSubstr("(sm_86), predicted, not timed\n"), Not(HasSubstr("of cuBLAS"))));
}

TEST(ReportTest, AnEmptyProductHasNoThroughput) {
  EXPECT_EQ(tflops_text(packed_problem(8, 8, 0), 3), "-");
}

}  // namespace
}  // namespace gemm_tune
