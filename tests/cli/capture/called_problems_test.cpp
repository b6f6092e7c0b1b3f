// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/called_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class CalledProblemsTest : public ::testing::Test {
 protected:
  CalledProblems read(const std::string& report) {
    write_file(file_, report);
    return read_called_problems(file_);
  }
  // The text of the problem of one line with these fields before the counts.
  std::string text_of(std::string fields) {
    std::erase(fields, '\n');
    const CalledProblems called = read("{\"function\":\"cublasGemmEx\"," + fields +
                                       ",\"served\":1,\"declined\":{},\"tunable\":0}\n");
    EXPECT_EQ(called.problems.at(0).problem.has_value(), called.problems[0].flops > 0);
    return called.problems[0].text;
  }

  const TempFolder temp_;
  const std::filesystem::path file_ = temp_.path() / "report.jsonl";
};

constexpr const char* kF32 = R"("type_a":"f32","type_b":"f32","type_c":"f32",)";

TEST_F(CalledProblemsTest, ACallOfCublasIsTheRowMajorProblemWithTheOperandsSwapped) {
  const std::string f32 = kF32;
  EXPECT_EQ(
      text_of(f32 +
              R"("m":8,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"N","alignments":[16,16,16])"),
      "12x8x16");
  EXPECT_EQ(
      text_of(f32 +
              R"("m":8,"n":12,"k":16,"batch":5,"op_a":"T","op_b":"N","alignments":[16,16,16])"),
      "12x8x16:layout=nt:batch=5");
  EXPECT_EQ(
      text_of(f32 + R"("m":8,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"C","alignments":[4,4,4])"),
      "12x8x16:layout=tn:align=4");
  EXPECT_EQ(
      text_of(f32 + R"("m":9,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"N","alignments":[4,16,4])"),
      "12x9x16");
  EXPECT_EQ(text_of(R"("type_a":"f16","type_b":"f16","type_c":"f32","m":8,"n":16,"k":24,"batch":1,
                    "op_a":"N","op_b":"N","alignments":[16,16,16])"),
            "16x8x24:type=f16/f16/f32/f32");
  EXPECT_EQ(text_of(f32 + R"("m":8,"n":12,"k":16,"batch":5,"batch_kind":"pointers",
                    "op_a":"T","op_b":"N","alignments":[16,16,16])"),
            "12x8x16:layout=nt:batch=5:pointers");
}

TEST_F(CalledProblemsTest, TheAlignmentOfEachOperandOfACallIsThatOfTheProblem) {
  const auto aligned = [&](const std::string& alignments, const std::string& m = "8") {
    return text_of(std::string(kF32) + R"("n":12,"k":16,"batch":1,"op_a":"N","op_b":"N","m":)" + m +
                   ",\"alignments\":" + alignments);
  };
  EXPECT_EQ(aligned("[16,16,16]"), "12x8x16");
  EXPECT_EQ(aligned("[16,4,16]"), "12x8x16:align=4/16/16/16");  // cuBLAS's B is the row-major A
  EXPECT_EQ(aligned("[4,16,8]"), "12x8x16:align=16/4/8/8");
  EXPECT_EQ(aligned("[4,4,4]"), "12x8x16:align=4");
  EXPECT_EQ(aligned("[4,16,4]", "9"), "12x9x16");
  EXPECT_EQ(aligned("[4,3,99]"), "12x8x16:align=4/4/16/16");
  EXPECT_EQ(aligned("[3,5,7]"), "12x8x16:align=4");  // no alignment is below an element
  EXPECT_EQ(text_of(R"("type_a":"f16","type_b":"f16","type_c":"f32","m":8,"n":16,"k":24,"batch":1,
                    "op_a":"N","op_b":"N","alignments":[2,16,16])"),
            "16x8x24:type=f16/f16/f32/f32:align=16/2/16/16");
}

TEST_F(CalledProblemsTest, AnAccuracyThatWasAskedForIsTheProblems) {
  const std::string sizes =
      R"(,"m":8,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"N","alignments":[16,16,16])";
  EXPECT_EQ(text_of(kF32 + (R"("accuracy":"fp32_f16x3")" + sizes)), "12x8x16:type=f32+fp32_f16x3");
  EXPECT_EQ(text_of(kF32 + (R"("accuracy":"fp32_f16x3","batch_kind":"pointers")" + sizes)),
            "12x8x16:pointers");
  EXPECT_THROW(text_of(kF32 + (R"("accuracy":"fp32_f16x4")" + sizes)), UsageError);
}

TEST_F(CalledProblemsTest, WhatNoKernelCanServeIsNoProblem) {
  EXPECT_EQ(text_of(R"("type_a":"3","type_b":"3","type_c":"f32","m":8,"n":16,"k":24,"batch":1,
                    "op_a":"N","op_b":"N","alignments":[4,4,4])"),
            "m=8 n=16 k=24");
  EXPECT_EQ(text_of(R"("type_a":"f16","type_b":"bf16","type_c":"f32","m":8,"n":16,"k":24,"batch":1,
                    "op_a":"N","op_b":"N","alignments":[4,4,4])"),
            "m=8 n=16 k=24");
  const std::string f32 = kF32;
  EXPECT_EQ(
      text_of(f32 +
              R"("m":0,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"N","alignments":[16,16,16])"),
      "m=0 n=12 k=16");
  EXPECT_EQ(
      text_of(f32 +
              R"("m":-3,"n":12,"k":16,"batch":1,"op_a":"7","op_b":"N","alignments":[16,16,16])"),
      "m=-3 n=12 k=16");
}

TEST_F(CalledProblemsTest, CountsAndErrorsAreThoseOfAllProcesses) {
  const std::string counted = std::string("{\"function\":\"cublasSgemm\",") + kF32 +
                              R"("m":8,"n":12,"k":16,"batch":1,"op_a":"N","op_b":"N",
      "alignments":[16,16,16],"served":3,"declined":{"slow":2,"odd":1},"tunable":2})";
  std::string one_line = counted;
  std::erase(one_line, '\n');
  const CalledProblems called = read("{\"pid\":1,\"program\":\"/bin/a\"}\n" + one_line + "\n" +
                                     "{\"pid\":2,\"program\":\"/bin/b\",\"error\":\"broken\"}\n");
  ASSERT_EQ(called.problems.size(), 1U);
  EXPECT_EQ(called.problems[0].function, "cublasSgemm");
  EXPECT_EQ(called.problems[0].calls(), 6);
  EXPECT_EQ(called.problems[0].tunable, 2);
  EXPECT_EQ(called.problems[0].flops, 2.0 * 8 * 12 * 16);
  EXPECT_THAT(called.errors, testing::ElementsAre("/bin/b: broken"));
}

TEST_F(CalledProblemsTest, ACallCostsItsGpuTimeElseItsOperationsAtTheMeanSpeed) {
  const auto line = [](const std::string& m, const std::string& times) {
    return R"({"function":"cublasSgemm","type_a":"f32","type_b":"f32","type_c":"f32","m":)" + m +
           R"(,"n":8,"k":8,"batch":1,"op_a":"N","op_b":"N","alignments":[16,16,16],"served":2,"declined":{},)" +
           times + "\"tunable\":0}\n";
  };
  const auto called = read(line("8", R"("timed":4,"gpu_us":10,)") +
                           line("16", R"("expected_us":3,"cublas_us":4,)") +
                           line("24", R"("timed":0,"gpu_us":5,"expected_us":0,"cublas_us":4,)"));
  EXPECT_EQ(called.problems.at(0).gpu_us, 2.5);
  EXPECT_EQ(called.problems.at(1).gpu_us, std::nullopt);
  EXPECT_EQ(called.problems[1].expected_us, 3);
  EXPECT_EQ(called.problems[1].cublas_us, 4);
  EXPECT_EQ(called.problems.at(2).gpu_us, std::nullopt);
  EXPECT_EQ(called.problems[2].expected_us, std::nullopt);
  EXPECT_THAT(costs_of_calls(called.problems), testing::ElementsAre(2.5, 5.0, 7.5));
  EXPECT_THAT(costs_of_calls({called.problems[1], called.problems[2]}),
              testing::ElementsAre(2048, 3072));  // operations
}

TEST_F(CalledProblemsTest, AFileThatIsNoReportIsRefusedByName) {
  EXPECT_TRUE(read_called_problems(temp_.path() / "missing").problems.empty());
  for (const char* const text :
       {"words\n", "{\"function\":\"cublasSgemm\"}\n", "[1]\n", "{\"function\":7}\n"}) {
    try {
      read(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(),
                  testing::HasSubstr("report.jsonl' is no report of this version's drop-in"));
    }
  }
}

}  // namespace
}  // namespace gemm_tune
