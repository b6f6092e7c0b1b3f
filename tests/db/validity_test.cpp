// SPDX-License-Identifier: Apache-2.0
#include "db/validity.h"

#include <gmock/gmock.h>

#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

const Environment kNow{kHashes, "13.0", "580.159.04"};

Record row(Source source = Source::measured) {
  Record record;
  record.device = kA6000;
  record.problem = parse_problem("1024x1024x1024");
  record.config = kWholeTiles;
  record.kernel_hash = kHash;
  record.outcome = source == Source::measured ? measured(60) : predicted(60);
  record.source = source;
  record.run = kRun;
  return record;
}

TEST(ValidityTest, ARowOfTodaysKernelCompilerAndDriverIsExact) {
  EXPECT_EQ(grade(row(), kNow), (Grade{Validity::exact, ""}));
}

TEST(ValidityTest, AnotherKernelTextMakesARowStale) {
  Record record = row();
  record.kernel_hash = "0000000000000000";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::stale, "the kernel text has changed since"}));
}

TEST(ValidityTest, AFamilyThatIsGoneMakesARowStale) {
  Record record = row();
  record.config = "fancy/BM=16";
  EXPECT_EQ(grade(record, kNow),
            (Grade{Validity::stale, "'fancy' is no kernel family of this program"}));
}

TEST(ValidityTest, AConfigThatTheFamilyNoLongerHasMakesARowStale) {
  const Grade gone{Validity::stale, "'naive' has no such config in this program"};
  Record record = row();
  for (const char* config : {"naive/BM=16,BN=16,PRED=0",                          // one is missing
                             "naive/BM=16,BN=16,COALESCED=1,PRED=0,STAGES=2",     // one too many
                             "naive/BM=999,BN=999,COALESCED=1,PRED=0",            // breaks a rule
                             "naive/BM=99999999999,BN=16,COALESCED=1,PRED=0"}) {  // no number
    record.config = config;
    EXPECT_EQ(grade(record, kNow), gone) << config;
  }
}

TEST(ValidityTest, AnotherCompilerLeavesARowUsable) {
  Record record = row(Source::predicted);
  record.run.cuda_version = "12.9";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::usable, "compiled by CUDA 12.9, now 13.0"}));
}

TEST(ValidityTest, AnotherDriverLeavesAMeasuredRowUsableAndAPredictedOneExact) {
  Record record = row();
  record.run.driver_version = "550.54.14";
  EXPECT_EQ(grade(record, kNow),
            (Grade{Validity::usable, "run by driver 550.54.14, now 580.159.04"}));
  record = row(Source::predicted);
  record.run.driver_version = "550.54.14";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::exact, ""}));
}

TEST(ValidityTest, WithoutAGpuNothingIsHeldAgainstTheDriver) {
  EXPECT_EQ(grade(row(), {kHashes, "13.0", ""}), (Grade{Validity::exact, ""}));
  Record record = row();
  record.run.driver_version = "";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::exact, ""}));
}

TEST(ValidityTest, TheWorstGradeCountsAndEveryReasonIsNamed) {
  Record record = row();
  record.config = "vectorized_2d/BM=128";
  record.kernel_hash = "0000000000000000";
  record.run.cuda_version = "12.9";
  record.run.driver_version = "550.54.14";
  EXPECT_EQ(grade(record, kNow),
            (Grade{Validity::stale,
                   "'vectorized_2d' has no such config in this program; the kernel text has "
                   "changed since; compiled by CUDA 12.9, now 13.0; run by driver 550.54.14, now "
                   "580.159.04"}));
}

}  // namespace
}  // namespace gemm_tune
