// SPDX-License-Identifier: Apache-2.0
// Look-ups of an M between those at which one (N, K) was tuned.
#include <string>

#include "choose/choose.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

class RangeOfMTest : public DbTest {
 protected:
  Choice choice(const std::string& problem, const DeviceKey& device = kA6000) {
    return choose(load_tuned(database_, device.arch, kRevisions), device, parse_problem(problem));
  }

  Database database_ = writable(file_);
};

TEST_F(RangeOfMTest, BetweenTwoTunedMThatAreNearOneOfTheirWinnersServes) {
  const std::string small =
      "vectorized_2d/BM=32,BN=64,BK=16,TM=4,TN=4,VEC=4,PAD=0,INTERLEAVE=0,PRED=0";
  store_measured(database_, kA6000, "64x512x512", small, 10);
  store_measured(database_, kA6000, "96x512x512", kPredicated, 12);
  // Timed at both, and expected to be faster between them.
  database_.store(kA6000, parse_problem("64x512x512"), kWholeTiles, kRevision, timed_alone(1),
                  Source::measured);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const auto served = [&](const std::string& problem) {
    return choose(tuned, kA6000, parse_problem(problem));
  };
  for (const char* problem : {"65x512x512", "80x512x512", "95x512x512"}) {
    const Choice found = served(problem);
    EXPECT_EQ(found.match, Match::nearest);
    EXPECT_THAT(found.explanation,
                HasSubstr("the better of the winners for the tuned M on both sides, "))
        << problem;
    EXPECT_TRUE(found.winner->config == small || found.winner->config == kPredicated) << problem;
    EXPECT_EQ(why_illegal(found.config->recipe, parse_problem(problem)), std::nullopt);
  }
  EXPECT_THAT(served("65x512x512").winner->config, small);  // just above its M
  // An M that was tuned for other alignments is nearer than both.
  store_measured(database_, kA6000, "80x512x512", kPredicated, 11);
  EXPECT_THAT(choice("80x512x512:align=4").explanation,
              HasSubstr("the nearest tuned size, 80x512"));
  // Outside of them, and with another N, K, batch or epilogue, all that is known counts.
  for (const char* problem : {"63x512x512", "97x512x512", "80x513x512", "80x512x511",
                              "80x512x512:batch=2", "80x512x512:layout=nt"}) {
    EXPECT_THAT(served(problem).explanation, Not(HasSubstr("on both sides"))) << problem;
  }
}

TEST_F(RangeOfMTest, AnotherDevicesWinnerForAnMBetweenThemDoesNotServe) {
  const DeviceKey twin{"sm_86", "NVIDIA A40", kA6000.sm_count};
  store_measured(database_, kA6000, "64x512x512", kPredicated, 10);
  store_measured(database_, kA6000, "96x512x512", kPredicated, 12);
  store_measured(database_, twin, "80x512x512", kPredicated, 9);
  EXPECT_THAT(choice("80x512x512").explanation, HasSubstr("on both sides"));
  store_measured(database_, twin, "100x512x512", kPredicated, 9);
  EXPECT_EQ(choice("100x512x512").winner->device, twin);
}

TEST_F(RangeOfMTest, AcrossAWideGapOfMAllThatIsKnownCounts) {
  store_measured(database_, kA6000, "64x512x512", kPredicated, 10);
  store_measured(database_, kA6000, "97x512x512", kPredicated, 12);
  EXPECT_THAT(choice("80x512x512").explanation, Not(HasSubstr("on both sides")));
  store_measured(database_, kA6000, "96x512x512", kPredicated, 12);
  EXPECT_THAT(choice("80x512x512").explanation, HasSubstr("on both sides"));
  EXPECT_THAT(choice("80x512x512", kA10).explanation, Not(HasSubstr("on both sides")));
}

}  // namespace
}  // namespace gemm_tune
