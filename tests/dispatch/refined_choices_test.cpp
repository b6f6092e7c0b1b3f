// SPDX-License-Identifier: Apache-2.0
#include "dispatch/refined_choices.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/epilogues.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132}, kH200{"sm_90", "NVIDIA H200", 132};

class RefinedChoicesTest : public testing::Test {
 protected:
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }
  const TempFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "refined.txt";
};

TEST_F(RefinedChoicesTest, AnAnswerIsFoundInThisAndInALaterProcess) {
  RefinedChoices choices(file_);
  EXPECT_EQ(choices.find(kH100, "64x64x64"), std::nullopt);
  choices.add(kH100, "64x64x64", "naive/BM=16,BN=16,COALESCED=1,PRED=1");
  choices.add(kH100, "65x65x65", "cublas");
  choices.add(kH100, "64x64x64", "cublas");  // the later one counts
  const RefinedChoices later(file_);
  for (const RefinedChoices* const one : {&std::as_const(choices), &later}) {
    EXPECT_EQ(one->find(kH100, "64x64x64"), "cublas");
    EXPECT_EQ(one->find(kH100, "65x65x65"), "cublas");
    EXPECT_EQ(one->find(kH200, "64x64x64"), std::nullopt);
  }
  EXPECT_EQ(text(),
            "gemm-tune refined choices 1\n"
            "sm_90\tNVIDIA H100 80GB HBM3\t132\t64x64x64\tnaive/BM=16,BN=16,COALESCED=1,PRED=1\n"
            "sm_90\tNVIDIA H100 80GB HBM3\t132\t65x65x65\tcublas\n"
            "sm_90\tNVIDIA H100 80GB HBM3\t132\t64x64x64\tcublas\n");
}

TEST_F(RefinedChoicesTest, ADeviceNameWithLineEndsAndTabsKeepsToItsLine) {
  const DeviceKey strange{"sm_90", "GPU\n\tof mine", 132};
  RefinedChoices(file_).add(strange, "64x64x64", "cublas");
  EXPECT_EQ(RefinedChoices(file_).find(strange, "64x64x64"), "cublas");
  EXPECT_EQ(text(),
            "gemm-tune refined choices 1\nsm_90\tGPU\\n\\tof mine\t132\t64x64x64\tcublas\n");
}

TEST(RefinedQuestionTest, IsTheProblemWithTheFormOfTheCall) {
  const Problem problem = packed_problem(64, 64, 64, Layout::nn, 3);
  EXPECT_EQ(refined_question(problem, {}), "64x64x64:batch=3");  // as earlier versions wrote it
  EXPECT_EQ(refined_question(problem, COperand::separate), "64x64x64:batch=3 separate_c");
  Problem with_bias = problem;
  with_bias.epilogue = kBiasColumn;
  EXPECT_EQ(refined_question(with_bias, COperand::separate),
            "64x64x64:batch=3:epilogue=bias_column separate_c");
}

TEST_F(RefinedChoicesTest, AFileOfAnotherKindIsRefusedAndLeftAsItIs) {
  std::ofstream(file_) << "my thesis\n";
  try {
    RefinedChoices{file_};
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("is no file of refined choices"));
  }
  EXPECT_EQ(text(), "my thesis\n");
}

TEST_F(RefinedChoicesTest, AFileOfALaterVersionIsRefusedAsSuch) {
  std::ofstream(file_) << "gemm-tune refined choices 2\n";
  try {
    RefinedChoices{file_};
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("was written by a later version of gemm-tune"));
  }
}

TEST_F(RefinedChoicesTest, LinesThatAreNoneAreLeftOut) {
  std::ofstream(file_)
      << "gemm-tune refined choices 1\n\nwords\nsm_90\tNVIDIA H200\t132\t1x1x1\tcublas";
  EXPECT_EQ(RefinedChoices(file_).find(kH200, "1x1x1"), "cublas");
}

TEST_F(RefinedChoicesTest, AFileThatCannotBeWrittenCostsNothing) {
  RefinedChoices choices(folder_.path() / "missing" / "refined.txt");
  choices.add(kH100, "64x64x64", "cublas");
  EXPECT_EQ(choices.find(kH100, "64x64x64"), "cublas");
}

TEST_F(RefinedChoicesTest, LinesOfManyThreadsStayWhole) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      RefinedChoices own(file_);
      for (int i = 0; i < 50; ++i) {
        own.add(kH100, std::to_string(thread) + "x" + std::to_string(i) + "x1", "cublas");
      }
    });
  }
  threads.clear();
  const RefinedChoices all(file_);
  for (int thread = 0; thread < 4; ++thread) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(all.find(kH100, std::to_string(thread) + "x" + std::to_string(i) + "x1"), "cublas");
    }
  }
}

}  // namespace
}  // namespace gemm_tune
