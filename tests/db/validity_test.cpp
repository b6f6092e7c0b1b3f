// SPDX-License-Identifier: Apache-2.0
#include "db/validity/validity.h"

#include <gmock/gmock.h>

#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

const Environment kNow{kRevisions, "13.0", "580.159.04"};

Record row(Source source = Source::measured) {
  Record record;
  record.device = kA6000;
  record.problem = parse_problem("1024x1024x1024");
  record.config = kWholeTiles;
  record.revision = kRevision;
  record.outcome = source == Source::measured ? measured(60) : predicted(60);
  record.source = source;
  record.run = kRun;
  return record;
}

TEST(ValidityTest, ARowOfTodaysKernelCompilerAndDriverIsExact) {
  EXPECT_EQ(grade(row(), kNow), (Grade{Validity::exact, ""}));
}

TEST(ValidityTest, AnotherRevisionMakesARowStale) {
  Record record = row();
  record.revision = "6";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::stale, "the kernel has changed since"}));
}

// Whatever part of the family's code the revision was raised for.
TEST(ValidityTest, ARaisedRevisionMakesEveryConfigOfTheFamilyStaleAndNoOther) {
  const std::string plain =
      "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1";
  const std::string warp =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  KernelRevisions raised = kRevisions;
  raised["vectorized_2d"] = "8";
  for (const std::string& config : {plain, plain + ",REPACK=1"}) {
    EXPECT_EQ(why_stale(config, kRevision, kRevisions), std::nullopt) << config;
    EXPECT_EQ(why_stale(config, kRevision, raised), "the kernel has changed since");
  }
  EXPECT_EQ(why_stale(warp, kRevision, raised), std::nullopt);
  raised["warp_tiled"] = "8";
  for (const std::string& config : {warp, warp + ",LINES=1", warp + ",STEPPED=1"}) {
    EXPECT_EQ(why_stale(config, kRevision, kRevisions), std::nullopt) << config;
    EXPECT_EQ(why_stale(config, kRevision, raised), "the kernel has changed since");
  }
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
  EXPECT_EQ(grade(row(), {kRevisions, "13.0", ""}), (Grade{Validity::exact, ""}));
  Record record = row();
  record.run.driver_version = "";
  EXPECT_EQ(grade(record, kNow), (Grade{Validity::exact, ""}));
}

TEST(ValidityTest, TheWorstGradeCountsAndEveryReasonIsNamed) {
  Record record = row();
  record.config = "vectorized_2d/BM=128";
  record.revision = "6";
  record.run.cuda_version = "12.9";
  record.run.driver_version = "550.54.14";
  EXPECT_EQ(grade(record, kNow),
            (Grade{Validity::stale,
                   "'vectorized_2d' has no such config in this program; the kernel has changed "
                   "since; compiled by CUDA 12.9, now 13.0; run by driver 550.54.14, now "
                   "580.159.04"}));
}

}  // namespace
}  // namespace gemm_tune
