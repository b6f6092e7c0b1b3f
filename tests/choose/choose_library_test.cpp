// SPDX-License-Identifier: Apache-2.0
// When cuBLAS or an algorithm of cublasLt is chosen instead of a kernel.
#include <string>
#include <vector>

#include "choose/choose.h"
#include "choose/most_of_cublas.h"
#include "tests/db/fixture.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

Baseline cublas_sgemm(double median_us) { return {"cublasSgemm", "13.1.0", timing(median_us)}; }

constexpr Allowed kLibraryToo = {.library = true};
const char* const kChoice = "cublas/WORKSPACE=33554432";

class ChooseLibraryTest : public DbTest {
 protected:
  Choice choice(const std::string& problem, Allowed allowed = kLibraryToo,
                const DeviceKey& device = kA6000) {
    return choose(load_tuned(database_, "sm_86", kRevisions), device, parse_problem(problem),
                  allowed);
  }
  static std::string text(const Choice& choice) { return to_string(choice.config->config()); }

  Database database_ = writable(file_);
};

class ChooseWithCublasTest : public ChooseLibraryTest {
 protected:
  // A winner at 1024x1024x1024 beside cuBLAS.
  void store(double winner_us, const Baseline& baseline) {
    database_.store_baseline(kA6000, k1024, baseline);
    store_measured(database_, kA6000, "1024x1024x1024", kPredicated, winner_us);
  }
};

TEST_F(ChooseWithCublasTest, CublasServesWhereItWasTimedFaster) {
  store(60, cublas_sgemm(50));
  const Choice found = choice("1024x1024x1024");
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(found.expected_us, 50);
  EXPECT_EQ(text(found), kChoice);
  EXPECT_EQ(found.winner->config, kChoice);
  EXPECT_EQ(found.winner->outcome.timing->median_us, 50);
  EXPECT_THAT(found.explanation,
              HasSubstr("cuBLAS, timed at 50.0 us; the best kernel took 60.0 us: the winner for"));
  const Choice kernel = choice("1024x1024x1024", {});
  EXPECT_EQ(kernel.match, Match::exact);
  EXPECT_EQ(kernel.expected_us, 60);
  EXPECT_EQ(kernel.cublas_us, 50);
}

TEST_F(ChooseWithCublasTest, AFasterWinnerServes) {
  store(60, cublas_sgemm(60));
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
}

// A kernel that is better with cold operands may take a little longer with hot ones.
TEST_F(ChooseWithCublasTest, AWinnerThatIsHardlySlowerServes) {
  store(60, cublas_sgemm(59));
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
}

// A baseline does not say which algorithm it was.
TEST_F(ChooseWithCublasTest, CublasLtsBestOfSeveralIsNotWhatCublasTakes) {
  store(60, {"cublasLt", "13.1.0", timing(50), {}, 8});
  database_.store_baseline(kA6000, k1024, {"cublasGemmEx-autotuned", "13.1.0", timing(52)});
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
  database_.store_baseline(kA6000, k1024, cublas_sgemm(55));
  EXPECT_EQ(choice("1024x1024x1024").expected_us, 55);
}

TEST_F(ChooseWithCublasTest, AtAnotherProblemItsTimeGrowsAsTheModelSays) {
  store(60, cublas_sgemm(50));
  const Choice found = choice("2048x2048x2048");
  EXPECT_EQ(found.match, Match::nearest);
  EXPECT_EQ(text(found), kChoice);
  EXPECT_GT(found.expected_us.value(), 4 * 50);
  EXPECT_LT(found.expected_us.value(), 12 * 50);
  EXPECT_THAT(found.explanation, HasSubstr("cuBLAS, expected to take "));
  const Choice kernel = choice("2048x2048x2048", {});
  EXPECT_EQ(kernel.match, Match::nearest);
  EXPECT_GT(kernel.expected_us.value(), found.expected_us.value());
}

// A tile of 128 x 128 for each of 64 outputs' worth of work: cuBLAS has kernels that suit.
TEST_F(ChooseWithCublasTest, ItsExpectedTimeDoesNotGrowWhereNoTunedKernelSuits) {
  store_measured(database_, kA6000, "4096x4096x4096", kWholeTiles, 6000);
  database_.store_baseline(kA6000, parse_problem("4096x4096x4096"), cublas_sgemm(6500));
  EXPECT_EQ(text(choice("128x128x4096")), kChoice);
  const Choice kernel = choice("128x128x4096", {});
  EXPECT_LT(kernel.cublas_us.value(), 0.5 * kernel.expected_us.value());
}

// Of as many SMs, so that the model's times are the same.
TEST_F(ChooseWithCublasTest, AtTheProblemOnAnotherDeviceTheOrderThatWasMeasuredThereStays) {
  const DeviceKey other{"sm_86", "NVIDIA A40", kA6000.sm_count};
  for (const char* near : {"1024x1024x1152", "1152x1024x1024"}) {
    database_.store_baseline(kA6000, parse_problem(near), cublas_sgemm(10));
    store_measured(database_, kA6000, near, kPredicated, 60);
  }
  store(60, cublas_sgemm(61));
  const Choice kernel = choice("1024x1024x1024", kLibraryToo, other);
  EXPECT_EQ(text(kernel), kPredicated);
  EXPECT_EQ(kernel.match, Match::nearest);
  EXPECT_NEAR(kernel.cublas_us.value(), 61, 1e-9);
  database_.store_baseline(kA6000, k1024, cublas_sgemm(55));
  const Choice found = choice("1024x1024x1024", kLibraryToo, other);
  EXPECT_EQ(text(found), kChoice);
  EXPECT_EQ(found.within, std::nullopt);
  EXPECT_THAT(found.explanation, HasSubstr("cuBLAS, expected to take 55.0 us"));
}

TEST_F(ChooseWithCublasTest, AKernelFromFartherAwayMustBeExpectedToBeFasterByMore) {
  store(60, cublas_sgemm(60 / 0.9));
  const auto expected = [&](const char* problem) {
    const Choice kernel = choice(problem, {});
    return kernel.expected_us.value() / kernel.cublas_us.value();
  };
  EXPECT_EQ(text(choice("1024x1024x2048")), kPredicated);
  EXPECT_LT(expected("1024x1024x2048"), 0.965);
  const Choice far = choice("8192x8192x1024");
  EXPECT_EQ(text(far), kChoice);
  EXPECT_LT(expected("8192x8192x1024"), 0.95);  // enough where it was tuned nearer
  EXPECT_THAT(far.explanation, HasSubstr(", not clearly less: "));
}

// Both are expected to take less of the time of cuBLAS than their distance of 2 demands.
TEST_F(ChooseWithCublasTest, ASpecialisationThatWasNotTunedMustBeExpectedToBeFasterByMore) {
  database_.store_baseline(kA6000, k1024, cublas_sgemm(60 / 0.93));
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 60);
  EXPECT_EQ(text(choice("1024x1024x2048")), kWholeTiles);
  const Choice unaligned = choice("1001x1001x2048");
  EXPECT_EQ(text(unaligned), kChoice);
  const Choice kernel = choice("1001x1001x2048", {});
  EXPECT_TRUE(kernel.is_specialisation);
  EXPECT_LT(kernel.expected_us.value() / kernel.cublas_us.value(), 0.93);
}

TEST(MostOfCublasTest, IsLessByAsMuchForEachDoublingOfTheDistanceUpToSix) {
  EXPECT_DOUBLE_EQ(most_of_cublas(1), 1);
  EXPECT_DOUBLE_EQ(most_of_cublas(2), 0.965);
  EXPECT_DOUBLE_EQ(most_of_cublas(8), 0.895);
  EXPECT_DOUBLE_EQ(most_of_cublas(64), 0.79);
  EXPECT_DOUBLE_EQ(most_of_cublas(1000), 0.79);
  EXPECT_DOUBLE_EQ(most_of_cublas(2, true), 0.885);
  EXPECT_DOUBLE_EQ(most_of_cublas(8, true), 0.815);
  EXPECT_DOUBLE_EQ(most_of_cublas(1, true), 1) << "another alignment of a tuned size";
}

TEST_F(ChooseWithCublasTest, CublasServesWhereNothingTunedFits) {
  const Choice found = choice("64x64x64:layout=nt");
  EXPECT_EQ(found.match, Match::builtin);
  EXPECT_EQ(found.expected_us, std::nullopt);
  EXPECT_EQ(text(found), kChoice);
  EXPECT_EQ(choice("64x64x64:layout=nt", {}).match, Match::builtin);
  const Choice tuned_only = choice("64x64x64:layout=nt", {.untuned = false});
  EXPECT_EQ(tuned_only.match, Match::none);
  EXPECT_EQ(tuned_only.config, nullptr);
  EXPECT_EQ(tuned_only.explanation, "nothing tuned for sm_86 fits 64x64x64:layout=nt");
}

TEST_F(ChooseWithCublasTest, TheLikeliestAreCublasThenTheChoiceThenTheNextKernels) {
  store(130, cublas_sgemm(100));
  store_measured(database_, kA6000, "1024x1024x1024", kWholeTiles, 100);
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const auto of = [&](const char* problem, std::size_t most) {
    std::vector<std::string> texts;
    for (const Choice& one : likeliest(tuned, kA6000, parse_problem(problem), kLibraryToo, most)) {
      texts.push_back(text(one));
    }
    return texts;
  };
  EXPECT_THAT(of("128x128x1024", 3), ElementsAre(kChoice, kPredicated, kWholeTiles));
  EXPECT_THAT(of("128x128x1024", 1), ElementsAre(kChoice, kPredicated));
  EXPECT_THAT(of("1024x1024x1024", 3), ElementsAre(kWholeTiles));
  EXPECT_EQ(of("64x64x64:layout=nt", 3).size(), 2u);  // the default and cuBLAS
}

const char* const kAlgorithm = "cublaslt/ALGO=66,TILE=20";

class ChooseAlgorithmTest : public ChooseLibraryTest {
 protected:
  // Finals at 1024x1024x1024, which the algorithm won, with the library's version in the file.
  ChooseAlgorithmTest() {
    database_.begin_run({"1.0", "13.0", "580.1", "tune", 1}, {{"cublaslt", "13.1.0"}});
    store(kAlgorithm, "13.1.0", 50, 1);
    store(kPredicated, kRevisions.at("vectorized_2d"), 60, 2);
  }
  void store(const std::string& config, const std::string& revision, double us, int rank) {
    Outcome outcome;
    outcome.timing = timing(us);
    outcome.ranking = Ranking{rank, {}, rank == 1, /*verified=*/true};
    database_.store(kA6000, k1024, config, revision, outcome, Source::measured);
  }
};

TEST_F(ChooseAlgorithmTest, AnAlgorithmServesTheProblemThatItWon) {
  const Choice found = choice("1024x1024x1024");
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(text(found), kAlgorithm);
  EXPECT_EQ(found.expected_us, 50);
  EXPECT_EQ(found.winner->revision, "13.1.0");
  EXPECT_EQ(found.explanation,
            "the winner for this problem on NVIDIA RTX A6000 with 84 SMs (measured)");
}

TEST_F(ChooseAlgorithmTest, ACallerWithoutLibrariesGetsTheBestKernel) {
  const Choice found = choice("1024x1024x1024", {});
  EXPECT_EQ(found.match, Match::exact);
  EXPECT_EQ(text(found), kPredicated);
  EXPECT_EQ(found.expected_us, 60);
}

TEST_F(ChooseAlgorithmTest, AnAlgorithmServesNoOtherProblemAlignmentOrDevice) {
  EXPECT_EQ(text(choice("1024x1024x1032")), kPredicated);
  EXPECT_EQ(text(choice("1024x1024x1024:align=16/4/16/16")).substr(0, 13), "vectorized_2d");
  const DeviceKey other{"sm_86", "NVIDIA A10", 72};
  EXPECT_EQ(text(choice("1024x1024x1024", kLibraryToo, other)), kPredicated);
}

TEST_F(ChooseAlgorithmTest, AKernelThatFinalsRankFirstServesThoughAnAlgorithmTakesNoLonger) {
  database_.begin_run({"1.0", "13.0", "580.1", "tune", 1});
  store(kAlgorithm, "13.1.0", 40, 2);
  store(kPredicated, kRevisions.at("vectorized_2d"), 40, 1);
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
}

TEST_F(ChooseAlgorithmTest, AnAlgorithmOfAnotherVersionThanTheLatestIsStale) {
  database_.begin_run({"1.0", "13.0", "580.1", "tune", 1}, {{"cublaslt", "13.2.0"}});
  EXPECT_EQ(text(choice("1024x1024x1024")), kPredicated);
}

// Not every program that writes knows the version.
TEST_F(ChooseAlgorithmTest, ARunWithoutTheLibraryLeavesItsVersionInTheFile) {
  database_.begin_run({"1.0", "13.0", "580.1", "tune", 1}, kRevisions);
  EXPECT_EQ(text(choice("1024x1024x1024")), kAlgorithm);
}

TEST_F(ChooseAlgorithmTest, TheLikeliestForATunedProblemIsItsAlgorithmAlone) {
  const Tuned tuned = load_tuned(database_, "sm_86", kRevisions);
  const std::vector<Choice> all = likeliest(tuned, kA6000, k1024, kLibraryToo, 3);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(text(all.front()), kAlgorithm);
}

}  // namespace
}  // namespace gemm_tune
