// SPDX-License-Identifier: Apache-2.0
#include "choose/choose.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/builtin_config.h"
#include "core/error.h"
#include "kernel_templates/source/source.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

class ChooseTest : public DbTest {
 protected:
  Choice choice(const std::string& problem, const DeviceKey& device = kA6000) {
    return choose(load_winners(database_, device.arch, kRevisions), device, parse_problem(problem));
  }

  // The tuned problem that the choice for `problem` rests on.
  std::string nearest(const std::string& problem) {
    return to_string(choice(problem).winner->problem);
  }

  static std::string text(const Choice& choice) { return to_string(choice.config->config()); }

  Database database_ = writable(file_);
};

TEST(ShapeDistanceTest, IsTheProductOfRatios) {
  const auto distance = [](const char* a, const char* b) {
    return shape_distance(launch_problem(parse_problem(a)), launch_problem(parse_problem(b)));
  };
  EXPECT_DOUBLE_EQ(distance("1024x1024x1024", "1024x1024x1024"), 1);
  EXPECT_DOUBLE_EQ(distance("1024x1024x1024", "512x2048x1024"), 4);
  EXPECT_DOUBLE_EQ(distance("512x2048x1024", "1024x1024x1024"), 4);
  EXPECT_DOUBLE_EQ(distance("8x8x0", "8x8x1"), 1);
  EXPECT_DOUBLE_EQ(distance("8x8x8:batch=6", "8x16x8:batch=2"), 6);
  EXPECT_DOUBLE_EQ(distance("8x8x8:layout=nt", "8x8x8"), 1);
  EXPECT_DOUBLE_EQ(distance("2000000000x1x1", "1x2000000000x2000000000"), 8e27);
}

TEST_F(ChooseTest, TheTunedProblemIsExact) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 70);
  const Choice found = choice("1024x1024x1024");
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(text(found), kWholeTiles);
  EXPECT_FALSE(found.is_specialisation);
  EXPECT_EQ(found.winner->outcome.timing->median_us, 60);
  EXPECT_EQ(found.explanation,
            "the winner for this problem on NVIDIA RTX A6000 with 84 SMs (measured)");
}

TEST_F(ChooseTest, Fp32ServesAnotherClassOfFp32OperandsWhereItIsFaster) {
  const DeviceKey hopper{"sm_90", "NVIDIA H100 80GB HBM3", 132};
  const std::string in_parts = "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=0";
  store_measured(database_, hopper, "512x512x512:type=f32+fp32_f16x3", in_parts, 13);
  EXPECT_EQ(text(choice("512x512x512:type=f32+fp32_f16x3", hopper)), in_parts);
  store_measured(database_, hopper, "512x512x512", kWholeTiles, 9);
  const Choice found = choice("512x512x512:type=f32+fp32_f16x3", hopper);
  EXPECT_EQ(text(found), kWholeTiles);
  EXPECT_EQ(found.expected_us, 9);
  EXPECT_THAT(found.explanation, HasSubstr("fp32, which satisfies the class and is faster: "));
  store_measured(database_, hopper, "1024x1024x1024", kWholeTiles, 47);
  store_measured(database_, hopper, "1024x1024x1024:type=f32+fp32_f16x3", in_parts, 27);
  EXPECT_EQ(text(choice("1024x1024x1024:type=f32+fp32_f16x3", hopper)), in_parts);
  EXPECT_EQ(text(choice("1024x1024x1024", hopper)), kWholeTiles);
}

TEST_F(ChooseTest, Fp32ServesAClassOfWhichNothingIsTunedWhereOnlyWinnersOrALibraryMay) {
  const DeviceKey hopper{"sm_90", "NVIDIA H100 80GB HBM3", 132};
  store_measured(database_, hopper, "512x512x512", kWholeTiles, 9);
  const Tuned tuned = load_tuned(database_, "sm_90", kRevisions);
  const Problem problem = parse_problem("512x512x512:type=f32+fp32_f16x3");
  EXPECT_EQ(text(choose(tuned, hopper, problem, {.untuned = false})), kWholeTiles);
  EXPECT_EQ(text(choose(tuned, hopper, problem, {.library = true, .untuned = false})), kWholeTiles);
  // Its default is three times as fast as fp32.
  EXPECT_EQ(choose(tuned, hopper, problem).match, Match::builtin);
}

// Such rows are those of a --config that earlier versions took.
TEST_F(ChooseTest, AConfigOfAWeakerClassNeverServes) {
  const std::string in_parts =
      "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0";
  store_measured(database_, kA6000, "1024x1024x1024", in_parts, 60);
  EXPECT_EQ(choice("1024x1024x1024").match, Match::builtin);
  store_measured(database_, kA6000, "512x512x512", kWholeTiles, 20);
  EXPECT_EQ(text(choice("1024x1024x1024")), kWholeTiles);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  EXPECT_EQ(text(choose(tuned, kA6000, parse_problem("1024x1024x1024"))), kWholeTiles);
}

TEST_F(ChooseTest, TheNextRowTakesThePlaceOfOneThatMayNotServeItsProblem) {
  const std::string of_another_class =
      "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0";
  const std::string of_nt =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=1,PRED=0";
  for (const auto& [problem, unfit, next] :
       {std::tuple("256x256x256", of_another_class, kPredicated),
        {"256x256x256:layout=nt", kPredicated, of_nt}}) {
    store_measured(database_, kA6000, problem, unfit, 6);
    store_measured(database_, kA6000, problem, next, 7);
    EXPECT_EQ(text(choice(problem)), next);
    EXPECT_EQ(choice(problem).match, Match::exact);
    EXPECT_EQ(choice(problem).expected_us, 7);
  }
  // The row serves where it may.
  store_measured(database_, kA6000, "256x256x256:type=f32+fp32_f16x3", of_another_class, 5);
  EXPECT_EQ(text(choice("256x256x256:type=f32+fp32_f16x3")), of_another_class);
}

// Where tensor cores need not be faster than fp32 for it, a class has no default.
TEST_F(ChooseTest, Fp32ServesAClassWithoutADefaultUntilASearchFoundAKernel) {
  const std::string problem = "1024x1024x1024:type=f32+fp32_f16x3";
  const Choice untuned = choice(problem);
  EXPECT_EQ(untuned.match, Match::builtin);
  EXPECT_EQ(untuned.config->traits.signature, Signature());
  EXPECT_THAT(untuned.explanation,
              HasSubstr("fp32, which satisfies fp32_f16x3: on sm_86 kernels of that class serve "
                        "where a search found them: nothing tuned"));
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 120);
  EXPECT_EQ(text(choice(problem)), kWholeTiles);
  const std::string in_parts =
      "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0";
  store_measured(database_, kA6000, problem, in_parts, 90);
  EXPECT_EQ(text(choice(problem)), in_parts);
  EXPECT_EQ(choice("1024x1024x1024:type=f32/bf16/f32/f32+tf32").match, Match::none);  // no family
  const DeviceKey a100{"sm_80", "NVIDIA A100-SXM4-80GB", 108};
  EXPECT_EQ(choice(problem, a100).config->family->name, "mma_parts");
}

TEST_F(ChooseTest, SaysWhereTheSearchWasStoppedBeforeItsFinals) {
  const Outcome outcome = timed_alone(60);
  database_.store(kA6000, parse_problem("1024x1024x1024"), kWholeTiles, kRevision, outcome,
                  Source::measured);
  EXPECT_EQ(choice("1024x1024x1024").explanation,
            "the winner for this problem on NVIDIA RTX A6000 with 84 SMs (measured), from a search "
            "that was stopped before its finals");
}

TEST_F(ChooseTest, AMeasuredRowBeatsAFasterPrediction) {
  store_predicted(database_, kA6000, "1024x1024x1024", kPredicated, 1);
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(text(choice("1024x1024x1024")), kWholeTiles);
}

TEST_F(ChooseTest, APredictionSaysThatItIsOne) {
  store_predicted(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_THAT(choice("1024x1024x1024").explanation, HasSubstr("predicted, not timed"));
}

TEST_F(ChooseTest, FailedRowsAreNoWinners) {
  database_.store(kA6000, parse_problem("1024x1024x1024"), kWholeTiles, kRevision,
                  failed(Disposition::wrong_result, "C[3][5] is off"), Source::measured);
  EXPECT_EQ(choice("1024x1024x1024").match, Match::builtin);
}

TEST_F(ChooseTest, NearestIsByRatioAndNotByDifference) {
  store_measured(database_, kA6000, "1x4096x4096", kPredicated, 10);
  store_measured(database_, kA6000, "16x4096x4096", kPredicated, 20);
  store_measured(database_, kA6000, "4096x4096x4096", kPredicated, 4000);
  EXPECT_EQ(nearest("2x4096x4096"), "1x4096x4096");
  EXPECT_EQ(nearest("5x4096x4096"), "16x4096x4096");      // 11 rows apart, not 4, but less unlike
  EXPECT_EQ(nearest("300x4096x4096"), "4096x4096x4096");  // 3796 rows apart, not 284
  EXPECT_EQ(nearest("200x4096x4096"), "16x4096x4096");
}

TEST_F(ChooseTest, NearestIsByShapeAndNotByVolumeOrName) {
  store_measured(database_, kA6000, "16x4096x4096", kPredicated, 20);
  store_measured(database_, kA6000, "1024x1024x512", kPredicated, 20);
  EXPECT_EQ(nearest("8x4096x8192"), "16x4096x4096");
  EXPECT_EQ(nearest("512x512x1024"), "1024x1024x512");  // the other one's volume exactly
  EXPECT_EQ(nearest("160x1024x256"), "1024x1024x512");  // "16..." is the likelier name
  EXPECT_EQ(choice("160x1024x256").match, Match::nearest);
}

TEST_F(ChooseTest, TiesGoToTheSmallerText) {
  store_measured(database_, kA6000, "2048x1024x1024", kPredicated, 20);
  store_measured(database_, kA6000, "1024x2048x1024", kPredicated, 20);
  EXPECT_EQ(nearest("1024x1024x1024"), "1024x2048x1024");
}

TEST_F(ChooseTest, ARaggedProblemGetsThePredicatedSpecialisation) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1000x1000x1000");
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_TRUE(found.is_specialisation);
  EXPECT_EQ(text(found),
            "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=1");
  EXPECT_THAT(
      found.explanation,
      AllOf(
          HasSubstr("nearest tuned size, 1024x1024x1024 on NVIDIA RTX A6000"),
          HasSubstr("predicated specialisation serves, since M = 1000 is not a multiple of 128")));
}

TEST_F(ChooseTest, AMisalignedProblemGetsASpecialisationWithNarrowerAccesses) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  const Choice two = choice("1024x1024x1024:align=8");
  EXPECT_EQ(two.match, Match::nearest);
  EXPECT_EQ(text(two),
            "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=2,PAD=4,INTERLEAVE=1,PRED=1");
  EXPECT_THAT(two.explanation,
              HasSubstr("the kernel's accesses need align=16; the problem has align=8"));
  EXPECT_EQ(text(choice("1024x1024x1024:align=4")),
            "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=1,PAD=4,INTERLEAVE=1,PRED=1");
}

TEST_F(ChooseTest, TheTunedAlignmentIsExactThoughAnotherHasTheSameShape) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  store_measured(database_, kA6000, "1024x1024x1024:align=4", kPredicated, 80);
  EXPECT_EQ(choice("1024x1024x1024:align=4").match, Match::exact);
  EXPECT_EQ(text(choice("1024x1024x1024:align=4")), kPredicated);
  EXPECT_EQ(text(choice("1024x1024x1024")), kWholeTiles);
}

TEST_F(ChooseTest, ProblemsWhoseOperandsAreAlignedDifferentlyDoNotHideEachOther) {
  const std::string widths =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1,VECS=441";
  store_measured(database_, kA6000, "1024x1024x1024:align=16/16/4/4", widths, 60);
  store_measured(database_, kA6000, "1024x1024x1024:align=4", kPredicated, 80);
  const Choice wide = choice("1024x1024x1024:align=16/16/4/4");
  EXPECT_EQ(wide.match, Match::exact);
  EXPECT_FALSE(wide.is_specialisation);
  EXPECT_EQ(text(wide), widths);
  EXPECT_EQ(wide.explanation,
            "the winner for this problem on NVIDIA RTX A6000 with 84 SMs (measured)");
  EXPECT_EQ(text(choice("1024x1024x1024:align=4")), kPredicated);
  EXPECT_EQ(choice("1024x1024x1024:align=4").match, Match::exact);
}

TEST_F(ChooseTest, TheWinnerOfTheAlignmentClassServesWhereOtherOperandsAreTheLeastAligned) {
  store_measured(database_, kA6000, "1024x1024x1024:align=4", kPredicated, 80);
  const Choice found = choice("1024x1024x1024:align=16/16/4/4");
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(text(found), kPredicated);
  EXPECT_EQ(found.explanation,
            "the winner where other operands are the least aligned ones, 1024x1024x1024:align=4 on "
            "NVIDIA RTX A6000 with 84 SMs (measured)");
}

TEST_F(ChooseTest, EverySpecialisationIsAKnownConfig) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  for (const int size : {1, 2, 4, 7, 127, 128, 129, 1000, 4096}) {
    const Choice found = choice(to_string(packed_problem(size, size + 1, size)));
    EXPECT_NO_THROW(check_config(found.config->config())) << text(found);
  }
}

TEST_F(ChooseTest, StaleRowsArePassedOver) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 10, "yesterday's hash");
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 60);
  store_measured(database_, kA6000, "900x900x900", kWholeTiles, 10, "yesterday's hash");
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
  EXPECT_EQ(nearest("900x900x900"), "1024x1024x1024");
}

TEST_F(ChooseTest, RowsOfUnknownConfigsArePassedOver) {
  store_measured(database_, kA6000, "1024x1024x1024", "retired/BM=1", 1);
  store_measured(database_, kA6000, "1024x1024x1024", "vectorized_2d/BM=64,GONE=1", 2);
  store_measured(database_, kA6000, "1024x1024x1024",
                 "vectorized_2d/BM=100,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0", 3);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 60);
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
}

TEST_F(ChooseTest, AnotherDeviceOfTheArchitectureServesAndTheAnswerSaysSo) {
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1024x1024x1024");
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_EQ(found.explanation,
            "the winner for this problem on NVIDIA A10 with 72 SMs, another device of sm_86 "
            "(measured)");
}

TEST_F(ChooseTest, AnotherSmCountIsAnotherDevice) {
  const DeviceKey slice{"sm_86", "NVIDIA RTX A6000", 42};
  store_measured(database_, slice, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_THAT(choice("1024x1024x1024").explanation, HasSubstr("with 42 SMs, another device"));
  store_measured(database_, kA6000, "2048x1024x1024", kPredicated, 60);
  EXPECT_EQ(nearest("1024x1024x1024"), "2048x1024x1024");  // measured here
}

TEST_F(ChooseTest, AnotherDeviceOfAsManySmsServesItsOwnProblemBeforeANearWinnerOfTheDevice) {
  const DeviceKey twin{"sm_86", "NVIDIA A40", kA6000.sm_count};
  store_measured(database_, kA6000, "2048x1024x1024", kPredicated, 60);
  store_measured(database_, twin, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, twin);
  EXPECT_EQ(choice("1024x1024x1024").match, Match::nearest);
  EXPECT_EQ(text(choice("1024x1024x1024")), kWholeTiles);
  EXPECT_EQ(choice("1536x1024x1024").winner->device, kA6000);  // neither was tuned for it
  Allowed own;
  own.twins = false;
  EXPECT_EQ(choose(load_winners(database_, "sm_86", kRevisions), kA6000,
                   parse_problem("1024x1024x1024"), own)
                .winner->device,
            kA6000);
  store_measured(database_, kA10, "1024x1024x1024", kPredicated, 20);  // of fewer SMs
  store_measured(database_, kA6000, "1024x1024x1024:align=4", kPredicated, 80);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, twin);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 90);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA6000);
  EXPECT_EQ(choice("1024x1024x1024").match, Match::exact);
}

TEST_F(ChooseTest, AWinnerOfAnotherDeviceServesWhereThoseOfTheDeviceAreFarther) {
  store_measured(database_, kA6000, "4096x4096x4096", kPredicated, 60);
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA10);
  EXPECT_EQ(choice("1024x1024x1024").match, Match::nearest);
  EXPECT_EQ(choice("1024x1024x1024").within, std::nullopt);  // own expectations say nothing of it
  EXPECT_EQ(choice("2048x2048x4096").winner->device, kA6000);
  store_measured(database_, kA6000, "2048x2048x1024", kPredicated, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA6000);
}

TEST_F(ChooseTest, BeyondADistanceOfFourAnotherDevicesWinnerServesWhereItIsNearer) {
  store_measured(database_, kA6000, "1024x1024x8192", kPredicated, 60);
  store_measured(database_, kA10, "1024x1024x4096", kWholeTiles, 60);  // 84 SMs for 72
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA10);
  store_measured(database_, kA6000, "1024x1024x6144", kPredicated, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA6000);
}

TEST_F(ChooseTest, EachMultipleOfSmsIsAMultipleOfTheDistance) {
  const DeviceKey slice{"sm_86", "NVIDIA RTX A6000", 42};
  store_measured(database_, slice, "1024x1024x2048", kWholeTiles, 60);
  store_measured(database_, kA6000, "2560x2048x1024", kPredicated, 60);
  EXPECT_EQ(nearest("1024x1024x1024"), "2560x2048x1024");  // 2.5 times as far, of twice the SMs
  store_measured(database_, kA10, "1024x1024x1920", kWholeTiles, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA10);
}

TEST_F(ChooseTest, AMeasurementElsewhereBeatsAPredictionHereUnlessFarther) {
  store_predicted(database_, kA6000, "1024x1024x1024", kPredicated, 60);
  store_measured(database_, kA10, "4096x4096x4096", kWholeTiles, 60);
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(choice("1024x1024x1024").winner->device, kA10);
}

TEST_F(ChooseTest, ADeviceWithoutANameIsAnyOfItsArchitecture) {
  store_predicted(database_, kA6000, "1024x1024x1024", kPredicated, 6);
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1024x1024x1024", {"sm_86", "", 0});
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(found.explanation, "the winner for this problem on NVIDIA A10 with 72 SMs (measured)");
}

TEST_F(ChooseTest, AnotherArchitectureDoesNotServe) {
  store_measured(database_, {"sm_90", "NVIDIA H100", 132}, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1024x1024x1024");
  EXPECT_EQ(found.match, Match::builtin);
  EXPECT_EQ(found.winner, nullptr);
  EXPECT_THAT(found.explanation, HasSubstr("nothing tuned for sm_86 fits"));
}

TEST_F(ChooseTest, AnEmptySumIsServed) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1024x1024x0");
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_EQ(text(found), kWholeTiles);
}

TEST_F(ChooseTest, ABatchIsServedByTheWinnerForOneOfItsProducts) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  const Choice found = choice("1024x1024x1024:batch=8");
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_EQ(text(found), kWholeTiles);
  EXPECT_FALSE(found.is_specialisation);
}

TEST_F(ChooseTest, ATunedBatchIsExactAndCountsInTheDistance) {
  store_measured(database_, kA6000, "128x128x128", kPredicated, 5);
  store_measured(database_, kA6000, "128x128x128:batch=64", kPredicated, 60);
  EXPECT_EQ(choice("128x128x128:batch=64").match, Match::exact);
  EXPECT_EQ(nearest("128x128x128:batch=7"), "128x128x128");
  EXPECT_EQ(nearest("128x128x128:batch=9"), "128x128x128:batch=64");
  EXPECT_EQ(nearest("256x256x128:batch=2"), "128x128x128");
}

TEST_F(ChooseTest, ABatchOfPointersIsServedByItsOwnWinnersOrByTheBuiltinDefault) {
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  store_measured(database_, kA6000, "64x64x64:batch=8", tile, 10);
  const Choice builtin = choice("64x64x64:batch=8:pointers");
  EXPECT_EQ(builtin.match, Match::builtin);
  EXPECT_EQ(builtin.config->recipe.batch_kind, BatchKind::pointers);
  EXPECT_EQ(choice("64x64x64:batch=8:pointers:type=bf16").config->family->name, "mma");
  store_measured(database_, kA6000, "64x64x64:batch=8:pointers", tile + ",POINTERS=1", 11);
  EXPECT_EQ(choice("64x64x64:batch=8:pointers").match, Match::exact);
  EXPECT_EQ(text(choice("64x64x60:batch=7:pointers")), tile + ",POINTERS=1");
  EXPECT_EQ(text(choice("64x64x64:batch=8")), tile);
  EXPECT_THAT(choice("64x64x64:batch=8:groups").explanation,
              HasSubstr("no kernel family serves batches of groups"));
}

TEST_F(ChooseTest, ABatchThatExceedsTheGridIsNotServed) {
  store_measured(database_, kA6000, "128x128x128", kPredicated, 5);
  const Choice found = choice("128x128x128:batch=65536");
  EXPECT_EQ(found.match, Match::none);
  EXPECT_EQ(found.config, nullptr);
  EXPECT_THAT(found.explanation, AllOf(HasSubstr("128x128x128:batch=65536"),
                                       HasSubstr("a batch of 65536 exceeds the grid's 65535")));
}

// The configs that choose() gives for whole and ragged tiles in every alignment class.
std::set<std::string> handed_out(const std::vector<Winner>& winners, Layout layout) {
  std::set<std::string> configs;
  for (const std::int64_t edge : {256, 260, 258, 257}) {
    for (const int alignment : {4, 2, 1}) {
      const Problem problem = in_class(packed_problem(edge, edge, edge, layout), alignment);
      const Choice found = choose(winners, kA6000, problem);
      EXPECT_EQ(found.match == Match::builtin, winners.empty()) << to_string(problem);
      configs.insert(to_string(found.config->config()));
    }
  }
  return configs;
}

std::set<std::string> served(const KnownConfig& config) {
  std::set<std::string> configs;
  for (const KnownConfig& variant : served_variants(config)) {
    configs.insert(to_string(variant.config()));
  }
  return configs;
}

// The finals verify the served variants, and the exported header holds them.
TEST_F(ChooseTest, HandsOutEachWinnerAsTheConfigsThatTheFinalsVerify) {
  for (const std::string& config :
       {kWholeTiles, std::string("tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=0"),
        std::string("skinny/CLUSTER=0,BS=8,TL=2,WARPS=4,LANES_K=8,UNROLL=2,VEC=4,SPLIT_K=8,"
                    "SKINNY_N=0,TA=0,TB=1,PRED=0")}) {
    Winner winner{check_config(parse_config(config)), {}};
    winner.record.device = kA6000;
    winner.record.problem = packed_problem(8, 8, 8, winner.config.recipe.layout);
    winner.record.outcome = measured(5);
    EXPECT_EQ(handed_out({winner}, winner.config.recipe.layout), served(winner.config));
  }
}

TEST_F(ChooseTest, HandsOutTheBuiltinConfigAsItsServedVariants) {
  for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
    EXPECT_EQ(handed_out({}, layout), served(builtin_config(Signature(), layout, "sm_86").value()));
  }
}

TEST_F(ChooseTest, AWinnerForAnotherLayoutIsNeverChosen) {
  KernelFamily family;
  family.name = "synthetic";
  family.params = {{"TA", {0, 1}, "", Role::transposed_a},
                   {"TB", {0, 1}, "", Role::transposed_b},
                   {"PRED", {0, 1}, "", Role::predicated}};
  family.traits = [](Values v) {
    Traits traits;
    traits.threads = 64;
    traits.tile_m = traits.tile_n = 16;
    traits.transposed_a = v[0] != 0;
    traits.transposed_b = v[1] != 0;
    traits.predicated = v[2] != 0;
    return traits;
  };
  Winner winner{known_config(family, {0, 1, 0}), {}};
  winner.record.device = kA6000;
  winner.record.problem = parse_problem("64x64x64:layout=nt");
  winner.record.outcome = measured(5);
  const auto chosen = [&](const char* problem) {
    return choose(std::vector<Winner>{winner}, kA6000, parse_problem(problem));
  };
  EXPECT_EQ(chosen("64x64x64:layout=nt").match, Match::exact);
  EXPECT_EQ(text(chosen("65x65x65:layout=nt")), "synthetic/TA=0,TB=1,PRED=1");
  EXPECT_EQ(chosen("64x64x64").match, Match::builtin);
  EXPECT_EQ(chosen("64x64x64:layout=tn").winner, nullptr);
  EXPECT_EQ(chosen("64x64x64:layout=tt").winner, nullptr);
}

TEST_F(ChooseTest, TheBuiltinDefaultServesEveryLayoutShapeAlignmentAndBatch) {
  for (const char* types : {"f32", "f32/bf16/f32/f32", "f16/f32/f32/f32"}) {
    const Signature signature = parse_signature(types);
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
      for (const int alignment : {1, 2, 4}) {
        for (const std::int64_t edge : {1, 64, 101, 4096, 100000}) {
          Problem problem = packed_problem(edge, edge + 1, edge + 2, layout, 3, signature);
          problem = in_class(problem, alignment);
          const Choice found = choose(Tuned(), kA6000, problem);
          ASSERT_EQ(found.match, Match::builtin) << to_string(problem);
          EXPECT_EQ(found.config->recipe.layout, layout);
          EXPECT_EQ(why_illegal(found.config->recipe, problem), std::nullopt) << to_string(problem);
        }
      }
    }
  }
}

TEST_F(ChooseTest, TheBuiltinDefaultsAccessesAreAsWideAsTheProblemAllows) {
  const auto vec = [](const char* problem) {
    return builtin_default(parse_problem(problem), "sm_86")->recipe.alignment;
  };
  EXPECT_EQ(vec("100x104x108"), 4);
  EXPECT_EQ(vec("102x104x106"), 2);
  EXPECT_EQ(vec("101x103x105"), 1);
  // A is stored [K,M]: M has to be whole vectors, K has not.
  EXPECT_EQ(vec("100x104x107:layout=tn"), 4);
}

TEST_F(ChooseTest, TheBuiltinDefaultNeedsNoCpAsync) {
  EXPECT_FALSE(builtin_default(packed_problem(64, 64, 64), "sm_75")->traits.async_copy);
}

TEST_F(ChooseTest, AProblemWithAnEpilogueTakesItsOwnWinnersAheadOfThoseWithout) {
  store_measured(database_, kA6000, "64x64x64", kPredicated, 5);
  const Problem asked = parse_problem("64x64x64:epilogue=bias_column+relu");
  const auto chosen = [&] {
    return choose(load_winners(database_, "sm_86", kRevisions), kA6000, asked);
  };
  EXPECT_EQ(chosen().match, Match::nearest);
  EXPECT_EQ(chosen().winner->problem, parse_problem("64x64x64"));
  store_measured(database_, kA6000, to_string(asked), kPredicated, 6);
  EXPECT_EQ(chosen().match, Match::exact);
  EXPECT_EQ(chosen().winner->problem, asked);
}

TEST_F(ChooseTest, AWinnerForOtherTypesIsNeverChosen) {
  store_measured(database_, kA6000, "64x64x64", kPredicated, 5);
  Problem problem = parse_problem("64x64x64");
  problem.signature = signature_of(ElementType::f64);
  const Choice found = choose(load_winners(database_, "sm_86", kRevisions), kA6000, problem);
  EXPECT_EQ(found.match, Match::none);
  EXPECT_EQ(
      found.explanation,
      "no kernel serves 64x64x64:type=f64: no kernel family has kernels of the types f64 yet");
}

TEST_F(ChooseTest, AGridTooLargeForOneWinnerIsServedByAFartherOne) {
  store_measured(database_, kA6000, "2000000000x64x8", kPredicated, 90000);  // tile 32 x 64
  store_measured(database_, kA6000, "4096x4096x4096", kWholeTiles, 4000);    // tile 128 x 128
  EXPECT_EQ(nearest("2000000000x4096x8"), "4096x4096x4096");
  const Choice neither = choice("2000000000x2000000000x8");
  EXPECT_EQ(neither.match, Match::none);
  EXPECT_THAT(neither.explanation, HasSubstr("2^31 - 1 CTAs"));
}

TEST_F(ChooseTest, ThroughTheDatabaseTodaysKernelTextsCount) {
  const std::string hash = kernel_source(*find_family("vectorized_2d")).revision;
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 10);
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60, hash);
  const Choice found = choose(database_, kA6000, parse_problem("1024x1024x1024"));
  EXPECT_EQ(text(found), kWholeTiles);
  EXPECT_EQ(found.match, Match::exact);
}

TEST_F(ChooseTest, ThereIsOneWinnerForEachDeviceAndProblemInOrderOfPreference) {
  store_measured(database_, kA6000, "512x512x512", kPredicated, 8);
  store_predicted(database_, kA10, "1024x1024x1024", kWholeTiles, 1);
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 70);
  std::vector<std::string> order;
  for (const Winner& winner : load_winners(database_, "sm_86", kRevisions)) {
    order.push_back(to_string(winner.record.problem) + " on " + winner.record.device.name);
  }
  EXPECT_THAT(order,
              ElementsAre("1024x1024x1024 on NVIDIA RTX A6000", "1024x1024x1024 on NVIDIA A10",
                          "512x512x512 on NVIDIA RTX A6000"));
}

// Whole tiles of K by padded copies, where a predicated kernel needs none.
TEST(SortByPreferenceTest, OrdersAsTheListOfItsCriteriaDoes) {
  const auto criteria = [](const Winner& winner) {
    const Record& record = winner.record;
    return std::make_tuple(to_string(record.problem), record.source == Source::predicted,
                           record.outcome.time_us().value(), record.device.name,
                           record.device.sm_count, record.config);
  };
  const KnownConfig config = check_config(parse_config(kWholeTiles));
  std::mt19937 random(7);
  const auto one_of_three = [&] { return static_cast<int>(random() % 3); };
  std::vector<Winner> winners;
  for (int i = 0; i < 2000; ++i) {
    Record record;
    record.problem = packed_problem(64 << one_of_three(), 64 << one_of_three(), 64);
    record.device = {"sm_86", std::string(1, static_cast<char>('a' + one_of_three())),
                     80 + one_of_three()};
    record.config = std::to_string(one_of_three());
    record.source = one_of_three() == 0 ? Source::predicted : Source::measured;
    const double time_us = 10 + one_of_three();
    if (record.source == Source::measured) {
      record.outcome.timing = Timing{time_us, {}, 1};
    } else {
      record.outcome.predicted_us = time_us;
    }
    winners.push_back({config, std::move(record)});
  }
  std::vector<decltype(criteria(winners.front()))> expected, sorted;
  for (const Winner& winner : winners) expected.push_back(criteria(winner));
  std::sort(expected.begin(), expected.end());
  sort_by_preference(winners);
  for (const Winner& winner : winners) sorted.push_back(criteria(winner));
  EXPECT_EQ(sorted, expected);
}

TEST_F(ChooseTest, AWinnerWithCopiesServesAnAlignedProblemWithoutThem) {
  const std::string tile = "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,";
  store_measured(database_, kA6000, "1024x1024x1001", tile + "PRED=0,REPACK=1", 60);
  EXPECT_EQ(text(choice("1024x1024x1003")), tile + "PRED=0,REPACK=1");
  EXPECT_EQ(text(choice("1024x1024x1004")), tile + "PRED=1");
}

// 1000 x 1000 outputs repay the copy of A; eight rows do not repay that of B.
TEST_F(ChooseTest, AWinnerWithCopiesServesInOneLaunchWhereTheProductHasLittleToDoWithThem) {
  const std::string tile = "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,";
  const std::string rest = ",PAD=4,INTERLEAVE=1,PRED=1";
  const std::string winner = tile + "VEC=4" + rest + ",REPACK=1";
  store_measured(database_, kA6000, "1000x1000x1001", winner, 60);
  EXPECT_EQ(text(choice("1000x1000x1001")), winner);
  EXPECT_EQ(text(choice("1200x1000x1003")), winner);
  const Choice skinny = choice("8x1000x1001:align=16/4/16/16");
  EXPECT_EQ(text(skinny), tile + "VEC=1" + rest);
  EXPECT_TRUE(skinny.is_specialisation);
  EXPECT_THAT(skinny.explanation,
              HasSubstr("specialisation serves, since copies of A and B would not pay"));
}

// One tile of 128 x 128 leaves 83 of 84 SMs idle; tiles of 32 x 64 occupy eight.
TEST_F(ChooseTest, AVerifiedConfigServesWhereTheModelExpectsTheNearestWinnerToBeSlower) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 130);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const Choice found = choose(tuned, kA6000, parse_problem("128x128x1024"));
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_EQ(text(found), kPredicated);
  EXPECT_EQ(found.winner->config, kPredicated);
  EXPECT_EQ(found.winner->problem, k1024);
  EXPECT_THAT(found.explanation,
              HasSubstr("the least of all configs that were verified on NVIDIA RTX A6000 with 84 "
                        "SMs; timed nearest at 1024x1024x1024; a guess"));
  EXPECT_EQ(text(choose(tuned, kA6000, parse_problem("1024x1024x2048"))), kWholeTiles);
  // The model knows nothing of a device without a name.
  EXPECT_EQ(text(choose(tuned, {"sm_86", "", 0}, parse_problem("128x128x1024"))), kWholeTiles);
}

TEST_F(ChooseTest, AConfigThatAnotherDeviceVerifiedServesBesideItsWinners) {
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, kA10, "1024x1024x1024", kPredicated, 130);
  store_measured(database_, kA6000, "4096x4096x4096", kWholeTiles, 5000);  // far away
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const Choice found = choose(tuned, kA6000, parse_problem("128x128x1024"));
  EXPECT_EQ(text(found), kPredicated);
  EXPECT_EQ(found.winner->device, kA10);
  EXPECT_THAT(found.explanation,
              HasSubstr("the least of all configs that were verified on NVIDIA A10 with 72 SMs, "
                        "another device of sm_86; timed nearest at 1024x1024x1024; a guess"));
}

// They differ in clocks, so that their times do not compare.
TEST_F(ChooseTest, TheWinnersOfOneOtherDeviceAreComparedAndNoThirdOnes) {
  const DeviceKey third{"sm_86", "NVIDIA A40", 84};
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, third, "1024x1024x2048", kPredicated, 1);
  const Choice found = choice("1024x1024x1152");
  EXPECT_EQ(found.winner->device, kA10);
  EXPECT_EQ(text(found), kWholeTiles);
}

TEST_F(ChooseTest, TheLikeliestAreOfBothDevices) {
  const char* const other =
      "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1";
  store_measured(database_, kA10, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, kA10, "1024x1024x1024", other, 130);
  store_measured(database_, kA6000, "1024x1024x8192", kWholeTiles, 800);
  store_measured(database_, kA6000, "1024x1024x8192", kPredicated, 900);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  std::vector<std::string> texts;
  for (const Choice& one : likeliest(tuned, kA6000, k1024, {}, 9)) {
    texts.push_back(text(one));
  }
  EXPECT_THAT(texts, UnorderedElementsAre(kWholeTiles, kPredicated, other));
}

// Winners in fp32 serve the class, which has no default here.
TEST_F(ChooseTest, TheLikeliestOfAClassWithoutWinnersAreThoseInFp32) {
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 60);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const std::vector<Choice> found =
      likeliest(tuned, kA6000, parse_problem("1024x1024x2048:type=f32+fp32_f16x3"), {}, 3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(text(found.front()), kPredicated);
}

// The model takes whole tiles for slower by far here.
TEST_F(ChooseTest, TheWinnerOfTheVeryProblemStaysOnADeviceOfAsManySms) {
  store_measured(database_, kA6000, "128x128x1024", kWholeTiles, 100);
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 90);
  EXPECT_EQ(text(choice("128x128x1024", {"sm_86", "NVIDIA A40", kA6000.sm_count})), kWholeTiles);
  EXPECT_EQ(text(choice("128x128x1024", {"sm_86", "NVIDIA A2", 10})), kPredicated);
}

TEST_F(ChooseTest, ARowThatThisProgramDoesNotKnowIsNoCandidate) {
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 100);
  store_measured(database_, kA6000, "1024x1024x1024", "vectorized_2d/BM=32,GONE=1", 1);
  store_measured(database_, kA6000, "1024x1024x1024", kPredicated, 1, "yesterday's hash");
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  EXPECT_EQ(text(choose(tuned, kA6000, parse_problem("128x128x1024"))), kWholeTiles);
}

}  // namespace
}  // namespace gemm_tune
