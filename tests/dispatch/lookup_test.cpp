// SPDX-License-Identifier: Apache-2.0
// The C interface without a GPU: looking up, refusing. Opening is opening_test.cpp.
#include <gemm_tune/gemm_tune.h>

#include <cstdlib>
#include <cstring>
#include <gemm_tune/gemm_tune.hpp>
#include <limits>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_test.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr gt_device kDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};

// Never read: only its alignment counts.
const void* const kAt4Bytes = reinterpret_cast<const void*>(0x1004);

std::vector<int> needed_alignment(const gt_recipe& recipe) {
  return {recipe.align_a, recipe.align_b, recipe.align_c, recipe.align_d};
}

class LookupTest : public SampleTest {
 protected:
  gt_recipe lookup(const gt_gemm_call& call, const gt_device& device = kDevice) {
    gt_recipe recipe;
    EXPECT_EQ(gt_lookup(handle_, &device, &call, &recipe), GT_OK) << gt_last_error();
    return recipe;
  }
  std::string explain(const gt_gemm_call& call, const gt_device& device = kDevice) {
    const char* sentence = "";
    EXPECT_EQ(gt_explain(handle_, &device, &call, &sentence), GT_OK) << gt_last_error();
    return sentence;
  }
  // From now on no library serves.
  void use_kernels_alone() {
    gt_close(handle_);
    handle_ = nullptr;
    gt_options options = GT_OPTIONS_INIT;
    options.database_path = database_.c_str();
    options.policy = GT_POLICY_DETERMINISTIC;
    ASSERT_EQ(gt_open(&options, &handle_), GT_OK) << gt_last_error();
  }
  void expect_refused(const gt_device& device, const gt_gemm_call& call, const char* text) {
    gt_recipe recipe;
    EXPECT_EQ(gt_lookup(handle_, &device, &call, &recipe), GT_INVALID_ARGUMENT);
    EXPECT_THAT(gt_last_error(), HasSubstr(text));
  }
};

TEST_F(LookupTest, ATunedProblemIsAnExactMatchWithItsWholeRecipe) {
  const gt_recipe recipe = lookup(make_call(1024, 1024, 1024));
  EXPECT_EQ(recipe.match, GT_MATCH_EXACT);
  EXPECT_EQ(recipe.source, GT_SOURCE_MEASURED);
  EXPECT_STREQ(recipe.config, kSampleConfig);
  EXPECT_EQ(needed_alignment(recipe), (std::vector<int>{16, 16, 16, 16}));
  EXPECT_EQ(recipe.workspace_bytes, 0);
  EXPECT_THAT(explain(make_call(1024, 1024, 1024)), StartsWith("the winner for this problem on"));
}

TEST_F(LookupTest, APredictedWinnerSaysSo) {
  const gt_recipe recipe = lookup(make_call(256, 256, 256));
  EXPECT_EQ(recipe.match, GT_MATCH_EXACT);
  EXPECT_EQ(recipe.source, GT_SOURCE_PREDICTED);
  EXPECT_STREQ(recipe.config, kSmallConfig);
}

TEST_F(LookupTest, ASizeNotTunedGetsTheNearest) {
  const gt_recipe recipe = lookup(make_call(2560, 1024, 1024));
  EXPECT_EQ(recipe.match, GT_MATCH_NEAREST);
  EXPECT_STREQ(recipe.config, kSampleConfig);
}

TEST_F(LookupTest, ARaggedProblemGetsThePredicatedSpecialisation) {
  const gt_recipe recipe = lookup(make_call(1000, 1004, 1020));
  EXPECT_EQ(recipe.match, GT_MATCH_NEAREST);
  EXPECT_STREQ(recipe.config,
               "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=1");
}

TEST_F(LookupTest, AMisalignedProblemGetsASpecialisationWithNarrowAccesses) {
  gt_gemm_call call = make_call(1024, 1024, 1024);
  call.A = kAt4Bytes;
  const gt_recipe recipe = lookup(call);
  EXPECT_EQ(needed_alignment(recipe), (std::vector<int>{4, 4, 4, 4}));
  EXPECT_THAT(recipe.config, HasSubstr("VEC=1"));
  EXPECT_THAT(recipe.config, StartsWith("vectorized_2d/BM=128,BN=128"));
}

TEST_F(LookupTest, ARecipeSaysHowManyPiecesATailIsCutIntoAndTheirScratchMemory) {
  // 128 tiles of 128 x 128 on 82 SMs: 28 of the 32 slices of each, then 4 on the 36 SMs that are
  // free. The other winner's 8 tiles are shared by 8 CTAs each.
  const std::string tile =
      "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=16,WM=64,WN=32,TM=8,TN=8,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,";
  {
    Database database(database_, Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 2048x1024x512", 1});
    const std::string hash = current_revisions().at("warp_tiled");
    const Outcome measured = measured_in(100);
    database.store(kSampleDevice, packed_problem(2048, 1024, 512),
                   tile + "SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0", hash, measured, Source::measured);
    database.store(kSampleDevice, packed_problem(128, 1024, 8192),
                   tile + "SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED=0", hash, measured, Source::measured);
  }
  gt_close(handle_);
  ASSERT_EQ(open_database(database_, &handle_), GT_OK) << gt_last_error();
  const gt_recipe cut = lookup(make_call(2048, 1024, 512));
  EXPECT_EQ(cut.workspace_bytes, 65536 + 128 * 2 * 65536);
  const gt_recipe shared = lookup(make_call(128, 1024, 8192));
  EXPECT_EQ(shared.workspace_bytes, 65536 + 8 * 8 * 65536);
}

TEST_F(LookupTest, ABatchIsServedByTheWinnerForOneProduct) {
  gt_gemm_call call = make_call(1024, 1024, 1024);
  call.batch = 16;
  const gt_recipe recipe = lookup(call);
  EXPECT_EQ(recipe.match, GT_MATCH_NEAREST);
  EXPECT_STREQ(recipe.config, kSampleConfig);
  EXPECT_EQ(recipe.distance, 16);
}

TEST_F(LookupTest, AColumnMajorCallIsTheRowMajorOneWithTheOperandsSwapped) {
  use_kernels_alone();
  gt_gemm_call call = make_call(1024, 130, 1024);
  call.order = GT_COLUMN_MAJOR;  // rows of 1024 elements, so that 130 rows are no matter
  EXPECT_EQ(needed_alignment(lookup(call)), (std::vector<int>{16, 16, 16, 16}));
  call.order = GT_ROW_MAJOR;
  EXPECT_EQ(needed_alignment(lookup(call)), (std::vector<int>{8, 8, 8, 8}));
}

TEST_F(LookupTest, ALayoutIsServedByItsOwnKernelsOnly) {
  use_kernels_alone();
  for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
    gt_gemm_call call = make_call(1024, 1024, 1024);
    call.order = order;
    call.trans_a = GT_TRANSPOSE;
    const gt_recipe recipe = lookup(call);
    EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
    EXPECT_THAT(recipe.config, HasSubstr(order == GT_ROW_MAJOR ? "TA=1,TB=0" : "TA=0,TB=1"));
    call.trans_a = GT_NO_TRANSPOSE;
    EXPECT_STREQ(lookup(call).config, kSampleConfig);
  }
}

TEST_F(LookupTest, ABatchOfPointersIsServedByKernelsForPointersAlone) {
  gt_gemm_call call = make_call(1024, 1024, 1024);
  call.batch = 4;
  call.batch_kind = GT_POINTERS;
  use_kernels_alone();
  const gt_recipe recipe = lookup(call);
  EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
  EXPECT_THAT(recipe.config, HasSubstr(",POINTERS=1"));
  call.batch_kind = GT_STRIDED;  // the same question but for the kind
  EXPECT_EQ(lookup(call).match, GT_MATCH_NEAREST);
  call.batch_kind = static_cast<gt_batch_kind>(2);
  expect_refused(kDevice, call, "call.batch_kind is 2: it must be GT_STRIDED or GT_POINTERS");
}

TEST_F(LookupTest, RefusesDistancesBeyondEveryAddress) {
  const std::int64_t far = (std::int64_t{1} << 47) + 1;
  const auto refusal = [&](std::int64_t gt_gemm_call::*distance, const char* name) {
    gt_gemm_call call = make_call(64, 64, 64);
    call.batch = 2;
    call.*distance = far;
    const std::string text = name + std::string(" is 140737488355329: it must be at most 2^47");
    expect_refused(kDevice, call, text.c_str());
  };
  refusal(&gt_gemm_call::lda, "lda");
  refusal(&gt_gemm_call::ldb, "ldb");
  refusal(&gt_gemm_call::ldc, "ldc");
  refusal(&gt_gemm_call::stride_a, "stride_a");
  refusal(&gt_gemm_call::stride_b, "stride_b");
  refusal(&gt_gemm_call::stride_c, "stride_c");
}

TEST_F(LookupTest, RefusesOrdersTranspositionsAndBatchesOutOfRange) {
  gt_gemm_call call = make_call(64, 64, 64);
  call.order = static_cast<gt_order>(2);
  expect_refused(kDevice, call, "call.order is 2");
  call = make_call(64, 64, 64);
  call.trans_a = static_cast<gt_transpose>(3);
  expect_refused(kDevice, call, "call.trans_a is 3");
  call = make_call(64, 64, 64);
  call.batch = 2'000'000'001;
  expect_refused(kDevice, call, "batch is 2000000001: it must be 0 to 2000000000");
  call.batch = -1;
  expect_refused(kDevice, call, "batch is -1");
}

TEST_F(LookupTest, ARecipeHasTheWinnersTimeBesideTheBaselinesAndHowFarAwayThatWas) {
  use_kernels_alone();
  const gt_recipe exact = lookup(make_call(1024, 1024, 1024));
  EXPECT_EQ(exact.tuned_us, 150);
  EXPECT_EQ(exact.baseline_us, 160);
  EXPECT_EQ(exact.distance, 1);
  const gt_recipe nearest = lookup(make_call(2048, 512, 3072));
  EXPECT_EQ(nearest.tuned_us, 150);
  EXPECT_EQ(nearest.distance, 12);  // 2 * 2 * 3
  const gt_recipe elsewhere = lookup(make_call(1024, 1024, 1024), {"sm_86", "another", 82});
  EXPECT_EQ(elsewhere.match, GT_MATCH_NEAREST);
  EXPECT_EQ(elsewhere.tuned_us, 0);
  EXPECT_EQ(elsewhere.baseline_us, 0);
  EXPECT_EQ(elsewhere.distance, 1);
  EXPECT_EQ(lookup(make_call(256, 256, 256)).tuned_us, 0);  // predicted
  EXPECT_EQ(lookup(make_call(64, 64, 64), {"sm_120", nullptr, 0}).distance, 0);
}

TEST_F(LookupTest, ACallIsLookedUpAsItsProblem) {
  use_kernels_alone();
  alignas(16) float matrix[8] = {};
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.order = GT_COLUMN_MAJOR;
  call.M = 128;
  call.N = call.K = call.lda = call.ldb = call.ldc = 1024;
  call.A = call.B = call.C = call.D = matrix;
  gt_recipe recipe;
  ASSERT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_STREQ(recipe.config, kSampleConfig);
  call.A = matrix + 2;  // at 8 bytes
  ASSERT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_EQ(recipe.align_a, 8);
  call.batch = 65536;  // two launches
  call.stride_c = 1024 * 1024;
  ASSERT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_EQ(recipe.distance, 8.0 * 65535);
  call.N = 0;
  EXPECT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call has no product: M, N or batch is 0");
  call.lda = 1;
  EXPECT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(),
               "lda is 1: it must be at least 1 and M = 128, or 0 for a packed matrix");
}

TEST_F(LookupTest, AQuestionThatWasAskedBeforeIsStillRefusedWhereItIsNotValid) {
  gt_gemm_call call = make_call(128, 1024, 1024);
  call.lda = call.ldb = call.ldc = 1024;
  EXPECT_EQ(lookup(call).match, GT_MATCH_NEAREST);
  call.lda = 512;  // as aligned as before, but too short
  expect_refused(kDevice, call, "lda is 512: it must be at least 1 and K = 1024");
  call.lda = -1024;
  expect_refused(kDevice, call, "lda is -1024");
  call.lda = 1024;
  call.ldb = 16;
  expect_refused(kDevice, call, "ldb is 16");
  call.ldb = 1024;
  call.ldc = 16;
  expect_refused(kDevice, call, "ldc is 16");
  call.ldc = 1024;
  call.C = reinterpret_cast<const void*>(0x1001);  // not read
  expect_refused(kDevice, call, "C is not aligned to 4 bytes");
  call.C = nullptr;
  call.batch = 2;
  call.stride_c = 128 * 1024;
  EXPECT_EQ(lookup(call).match, GT_MATCH_NEAREST);
  call.stride_c = 64 * 1024;
  expect_refused(kDevice, call, "stride_c is 65536: the matrices of D overlap");
  call.stride_c = -128 * 1024;
  expect_refused(kDevice, call, "stride_c is -131072");
}

TEST_F(LookupTest, TheSentenceOfARefusedQuestionIsLeftAlone) {
  const char* sentence = "as before";
  const gt_gemm_call none = make_call(0, 1, 1), call = make_call(64, 64, 64);
  EXPECT_EQ(gt_explain(handle_, &kDevice, &none, &sentence), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call has no product: M, N or batch is 0");
  EXPECT_STREQ(sentence, "as before");
  EXPECT_EQ(gt_explain(nullptr, &kDevice, &call, &sentence), GT_INVALID_ARGUMENT);
  EXPECT_EQ(gt_explain(handle_, &kDevice, &call, nullptr), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "sentence is NULL");
}

TEST_F(LookupTest, AnUntunedArchitectureGetsTheDefaultThatServesAnything) {
  gt_gemm_call call = make_call(1023, 1025, 0);
  call.A = kAt4Bytes;
  const gt_recipe recipe = lookup(call, {"sm_120", nullptr, 0});
  EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
  EXPECT_EQ(recipe.source, GT_SOURCE_NONE);
  EXPECT_EQ(needed_alignment(recipe), (std::vector<int>{4, 4, 4, 4}));
}

TEST_F(LookupTest, ADeviceWithoutANameStandsForItsArchitecture) {
  const gt_recipe recipe = lookup(make_call(1024, 1024, 1024), {"sm_86", nullptr, 0});
  EXPECT_STREQ(recipe.config, kSampleConfig);
}

TEST_F(LookupTest, ThreadsShareAHandle) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        gt_recipe recipe;
        const gt_gemm_call call = make_call(1024, 1024, 1024);
        ASSERT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_OK);
        ASSERT_STREQ(recipe.config, kSampleConfig);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LookupTest, RefusesNullArguments) {
  const gt_gemm_call call = make_call(64, 64, 64);
  gt_recipe recipe;
  EXPECT_EQ(gt_lookup(nullptr, &kDevice, &call, &recipe), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "handle is NULL");
  EXPECT_EQ(gt_lookup(handle_, &kDevice, nullptr, &recipe), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call is NULL");
  EXPECT_EQ(gt_lookup(handle_, &kDevice, &call, nullptr), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "recipe is NULL");
  expect_refused({nullptr, nullptr, 0}, call, "device.arch is NULL");
  EXPECT_EQ(open_database(database_, nullptr), GT_INVALID_ARGUMENT);
  gt_close(nullptr);
}

TEST_F(LookupTest, RefusesProblemsOutOfRange) {
  expect_refused(kDevice, make_call(0, 1, 1), "call has no product: M, N or batch is 0");
  expect_refused(kDevice, make_call(1, -5, 1), "N is -5: it must be 0 to 2000000000");
  expect_refused(kDevice, make_call(1, 1, 2'000'000'001), "K is 2000000001");
}

TEST_F(LookupTest, RefusesDevicesThatAreNone) {
  const gt_gemm_call call = make_call(64, 64, 64);
  expect_refused({"ampere", nullptr, 0}, call, "'ampere'");
  expect_refused({"", nullptr, 0}, call, "sm_90");
  expect_refused({"sm_86", nullptr, -1}, call, "device.sm_count");
}

TEST_F(LookupTest, AFailureLeavesTheRecipeAlone) {
  gt_recipe recipe{};
  recipe.align_a = 7;
  const gt_gemm_call call = make_call(0, 0, 0);
  EXPECT_EQ(gt_lookup(handle_, &kDevice, &call, &recipe), GT_INVALID_ARGUMENT);
  EXPECT_EQ(recipe.align_a, 7);
}

TEST_F(LookupTest, LastErrorIsTheThreadsOwn) {
  ASSERT_EQ(open_database(database_, nullptr), GT_INVALID_ARGUMENT);
  std::string elsewhere = "not run";
  std::thread([&] { elsewhere = gt_last_error(); }).join();
  EXPECT_EQ(elsewhere, "");
  EXPECT_STREQ(gt_last_error(), "handle is NULL");
}

// A row-major call without transposition.
gt_status sgemm(gt_handle* handle, std::int64_t M, std::int64_t N, std::int64_t K, const float* A,
                std::int64_t lda, const float* B, std::int64_t ldb, float* C, std::int64_t ldc) {
  return gt_sgemm(handle, nullptr, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, M, N, K, 1, A,
                  lda, B, ldb, 0, C, ldc);
}

TEST_F(LookupTest, SgemmChecksArgumentsBeforeItLooksForAGpu) {
  float c = 0;
  EXPECT_EQ(sgemm(handle_, 1, 1, 1, nullptr, 1, &c, 1, &c, 1), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "A is NULL");
  EXPECT_EQ(sgemm(nullptr, 1, 1, 1, &c, 1, &c, 1, &c, 1), GT_INVALID_ARGUMENT);
  EXPECT_EQ(gt_sgemm(handle_, nullptr, static_cast<gt_order>(2), GT_NO_TRANSPOSE, GT_NO_TRANSPOSE,
                     1, 1, 1, 1, &c, 1, &c, 1, 0, &c, 1),
            GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call.order is 2: it must be GT_ROW_MAJOR or GT_COLUMN_MAJOR");
  EXPECT_EQ(gt_sgemm(handle_, nullptr, GT_ROW_MAJOR, GT_NO_TRANSPOSE,
                     static_cast<gt_transpose>(112), 1, 1, 1, 1, &c, 1, &c, 1, 0, &c, 1),
            GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call.trans_b is 112: it must be GT_NO_TRANSPOSE or GT_TRANSPOSE");
}

// A packed 64x64x64 call of these types, whose matrices are all one that is not read.
gt_gemm_call call_of(gt_type ab, gt_type cd, void* matrix) {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.type_a = call.type_b = ab;
  call.type_c = call.type_d = cd;
  call.M = call.N = call.K = call.lda = call.ldb = call.ldc = 64;
  call.A = call.B = call.C = call.D = matrix;
  return call;
}

TEST_F(LookupTest, GemmChecksItsCallBeforeItLooksForAGpu) {
  alignas(16) float matrix = 0;
  const auto refusal = [&](const gt_gemm_call& call) {
    EXPECT_EQ(gt_gemm(handle_, nullptr, &call), GT_INVALID_ARGUMENT);
    return std::string(gt_last_error());
  };
  const gt_gemm_call good = call_of(GT_BF16, GT_F32, &matrix);
  gt_gemm_call call = good;
  call.size = 0;
  EXPECT_EQ(refusal(call),
            "call.size is 0: set it to sizeof(gt_gemm_call) of this version's header, as "
            "GT_GEMM_CALL_INIT does");
  call.size = sizeof(gt_gemm_call) + 8;
  EXPECT_THAT(refusal(call), StartsWith("call.size is 264: set it"));
  call = good;
  call.type_c = static_cast<gt_type>(9);
  EXPECT_EQ(refusal(call), "call.type_c is 9: it must be a gt_type");
  call = good;
  call.accuracy = static_cast<gt_accuracy>(10);
  EXPECT_EQ(refusal(call), "call.accuracy is 10: it must be a gt_accuracy");
  call.accuracy = GT_ACCURACY_TF32;
  EXPECT_EQ(refusal(call), "call.accuracy is tf32, which is no class of bf16 operands");
  call = good;
  call.trans_b = static_cast<gt_transpose>(7);
  EXPECT_EQ(refusal(call), "call.trans_b is 7: it must be GT_NO_TRANSPOSE or GT_TRANSPOSE");
  call = good;
  call.epilogue = gt_epilogue_named("bias_column+bias_row");
  EXPECT_EQ(call.epilogue, UINT32_MAX);
  EXPECT_EQ(gt_epilogue_named("scale+scale"), UINT32_MAX);
  EXPECT_EQ(refusal(call),
            "call.epilogue is 4294967295: it must be 0 or what gt_epilogue_named() returns for a "
            "known text");
  call.epilogue = gt_epilogue_named("bias_column");
  EXPECT_EQ(refusal(call), "bias_column is NULL");
  call = good;
  call.lda = 63;
  EXPECT_EQ(refusal(call), "lda is 63: it must be at least 1 and K = 64, or 0 for a packed matrix");
  call = good;
  call.batch = -1;
  EXPECT_EQ(refusal(call), "batch is -1: it must be 0 to 2000000000");
  call = good;
  call.D = nullptr;
  EXPECT_EQ(refusal(call), "D is NULL");
  call.C = nullptr;
  EXPECT_EQ(refusal(call), "D is NULL");
  EXPECT_EQ(gt_gemm(handle_, nullptr, nullptr), GT_INVALID_ARGUMENT);
  EXPECT_STREQ(gt_last_error(), "call is NULL");
  EXPECT_EQ(gt_gemm(nullptr, nullptr, &good), GT_INVALID_ARGUMENT);
}

TEST_F(LookupTest, CallsNameTheirTypes) {
  gt_gemm_call call = make_call(64, 64, 64);
  call.type_a = call.type_b = GT_F16;
  use_kernels_alone();
  const gt_recipe recipe = lookup(call);
  EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
  EXPECT_THAT(recipe.config, StartsWith("mma/AB=1,CD=0,"));
  EXPECT_EQ(needed_alignment(recipe), (std::vector<int>{16, 16, 16, 16}));
  const gt_device old = {"sm_70", nullptr, 0};
  EXPECT_EQ(lookup(call, old).match, GT_MATCH_NONE);
  EXPECT_THAT(explain(call, old), HasSubstr("sm_70 has no kernel of f16/f16/f32/f32"));
  call.type_d = GT_BF16;
  EXPECT_EQ(lookup(call).match, GT_MATCH_NONE);
  EXPECT_THAT(explain(call),
              HasSubstr("no kernel family has kernels of the types f16/f16/f32/bf16 yet"));
}

// In row-major terms A and B of a column-major call change places. No library has such a product.
TEST_F(LookupTest, OperandsMayHaveTwoTypesInEitherOrderOfStorage) {
  gt_gemm_call call = make_call(64, 64, 64);
  call.type_b = GT_BF16;
  for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
    call.order = order;
    const gt_recipe recipe = lookup(call);
    EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
    EXPECT_THAT(recipe.config, StartsWith("warp_tiled/"));
    EXPECT_THAT(recipe.config, HasSubstr(order == GT_ROW_MAJOR ? ",TYPE_B=2" : ",TYPE_A=2"));
    EXPECT_EQ(needed_alignment(recipe), (std::vector<int>{16, 8, 16, 16}));
  }
}

TEST_F(LookupTest, GivenAddressesAndLeadingDimensionsCountAndNoneArePacked) {
  const gt_recipe packed = lookup(make_call(1024, 1024, 1024));
  gt_gemm_call call = make_call(1024, 1024, 1024);
  call.lda = call.ldb = call.ldc = 1024;
  alignas(16) float matrix[8] = {};
  call.A = call.B = call.C = call.D = matrix;
  const gt_recipe given = lookup(call);
  EXPECT_EQ(std::memcmp(&given, &packed, sizeof given), 0);
  call.ldb = 1025;
  EXPECT_EQ(lookup(call).align_b, 4);
  call.ldb = 1024;
  call.D = matrix + 1;
  EXPECT_EQ(lookup(call).align_d, 4);
}

TEST_F(LookupTest, SgemmThatChangesNothingNeedsNoGpu) {
  EXPECT_EQ(sgemm(handle_, 0, 5, 5, nullptr, 5, nullptr, 5, nullptr, 5), GT_OK);
  EXPECT_EQ(sgemm(handle_, 5, 0, 5, nullptr, 5, nullptr, 1, nullptr, 1), GT_OK);
  const gt_gemm_call none = GT_GEMM_CALL_INIT;
  EXPECT_EQ(gt_gemm(handle_, nullptr, &none), GT_OK) << gt_last_error();
}

TEST_F(LookupTest, WithoutAGpuTheCurrentDeviceIsADeviceError) {
  if (device_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  float x = 0;
  EXPECT_EQ(sgemm(handle_, 1, 1, 1, &x, 1, &x, 1, &x, 1), GT_DEVICE_ERROR);
  EXPECT_STRNE(gt_last_error(), "");
  gt_recipe recipe;
  const gt_gemm_call call = make_call(64, 64, 64);
  EXPECT_EQ(gt_lookup(handle_, nullptr, &call, &recipe), GT_DEVICE_ERROR);
}

TEST_F(LookupTest, TheCppWrapperThrowsTheStatusWithItsSentence) {
  const Handle handle(database_.string());
  EXPECT_STREQ(handle.lookup(kDevice, make_call(1024, 1024, 1024)).config, kSampleConfig);
  try {
    Handle missing((directory_ / "missing.db").string());
    FAIL() << "opened a missing database";
  } catch (const StatusError& error) {
    EXPECT_EQ(error.status(), GT_DATABASE_ERROR);
    EXPECT_THAT(error.what(), HasSubstr("missing.db"));
  }
}

TEST(Strings, NameEveryValueAndSurviveOthers) {
  EXPECT_STREQ(gt_status_string(GT_DATABASE_ERROR), "database error");
  EXPECT_STREQ(gt_match_string(GT_MATCH_DEFAULT), "default");
  EXPECT_STREQ(gt_source_string(GT_SOURCE_PREDICTED), "predicted");
  EXPECT_STREQ(gt_status_string(static_cast<gt_status>(7)), "unknown");
}

class PolicyTest : public LookupTest {
 protected:
  Handle opened_by(gt_policy policy) {
    gt_options options = GT_OPTIONS_INIT;
    options.database_path = database_.c_str();
    options.policy = policy;
    return Handle(options);
  }
  gt_match match_by(gt_policy policy, const gt_gemm_call& call) {
    return opened_by(policy).lookup(kDevice, call).match;
  }
};

TEST_F(PolicyTest, SaysWhatServesWhereNothingTunedFits) {
  gt_gemm_call call = make_call(1024, 1024, 1024);
  call.trans_a = GT_TRANSPOSE;
  const Handle by_best = opened_by(GT_POLICY_BEST);
  const gt_recipe best = by_best.lookup(kDevice, call);
  EXPECT_EQ(best.match, GT_MATCH_DEFAULT);
  EXPECT_STREQ(best.config, "cublas/WORKSPACE=33554432");
  EXPECT_EQ(best.workspace_bytes, 33554432);
  EXPECT_EQ(match_by(GT_POLICY_DETERMINISTIC, call), GT_MATCH_DEFAULT);
  const Handle by_tuned = opened_by(GT_POLICY_TUNED_ONLY);
  const gt_recipe none = by_tuned.lookup(kDevice, call);
  EXPECT_EQ(none.match, GT_MATCH_NONE);
  EXPECT_STREQ(none.config, "");
  EXPECT_EQ(by_tuned.explain(kDevice, call),
            "nothing tuned for sm_86 fits 1024x1024x1024:layout=tn");
  for (const gt_policy policy : {GT_POLICY_BEST, GT_POLICY_DETERMINISTIC, GT_POLICY_TUNED_ONLY}) {
    EXPECT_EQ(match_by(policy, make_call(1024, 1024, 1024)), GT_MATCH_EXACT);
  }
}

TEST_F(PolicyTest, WhereOnlyWhatWasTunedServesItIsWhatTheDeviceItselfTimed) {
  const gt_gemm_call near = make_call(1024, 1024, 2048);
  DeviceKey twin = kSampleDevice;
  twin.name = "a GPU of as many SMs";
  {
    Database database(database_, Database::Mode::create_or_open);
    database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 1024x1024x2048", 1});
    database.store(twin, packed_problem(1024, 1024, 2048), kSampleConfig,
                   current_revisions().at("vectorized_2d"), measured_in(290), Source::measured);
  }
  EXPECT_EQ(opened_by(GT_POLICY_DETERMINISTIC).lookup(kDevice, near).tuned_us, 0);
  EXPECT_THAT(opened_by(GT_POLICY_DETERMINISTIC).explain(kDevice, near),
              HasSubstr("another device of sm_86"));
  EXPECT_EQ(opened_by(GT_POLICY_TUNED_ONLY).lookup(kDevice, near).tuned_us, 150);
}

// Of 16-bit matrices at odd elements cuBLAS wants none.
TEST_F(PolicyTest, CublasIsNotChosenForWhatItDoesNotTake) {
  gt_gemm_call odd = make_call(63, 63, 63);
  odd.type_a = odd.type_b = GT_F16;
  EXPECT_EQ(lookup(odd).match, GT_MATCH_DEFAULT);
  EXPECT_EQ(lookup(make_call(64, 64, 0)).match, GT_MATCH_NEAREST);
}

TEST_F(PolicyTest, RecipesTellExpectedTimes) {
  const gt_recipe exact = lookup(make_call(1024, 1024, 1024));
  EXPECT_EQ(exact.expected_us, 150);
  EXPECT_NEAR(exact.expected_within, 1.0066, 0.0002);  // the middle one of 1, 150/149 and 151/150
  EXPECT_EQ(exact.cublas_us, 160);
  const gt_recipe near = lookup(make_call(1024, 1024, 2048));
  EXPECT_NEAR(near.expected_us, 300, 30);
  EXPECT_NEAR(near.cublas_us, 320, 32);
  EXPECT_EQ(near.expected_within, 0);  // one timed problem says nothing of others
}

TEST_F(PolicyTest, TheSameQuestionHasTheSameAnswer) {
  const gt_gemm_call calls[] = {make_call(1024, 1024, 1024), make_call(100, 200, 300)};
  for (const gt_gemm_call& call : calls) {
    const gt_recipe first = lookup(call), again = lookup(call);
    EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0);
  }
  EXPECT_STRNE(lookup(calls[0]).config, lookup(calls[1]).config);
  const gt_device any = {"sm_86", nullptr, 0};
  EXPECT_EQ(lookup(calls[1], any).expected_us, 0);  // another question
}

TEST_F(PolicyTest, RefusesBadOptions) {
  gt_handle* handle = nullptr;
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = database_.c_str();
  options.policy = static_cast<gt_policy>(4);
  EXPECT_EQ(gt_open(&options, &handle), GT_INVALID_ARGUMENT);
  EXPECT_THAT(gt_last_error(), StartsWith("options.policy is 4: it must be GT_POLICY_BEST"));
  options.policy = GT_POLICY_BEST;
  for (const double none : {-1.0, 60001.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.refine_ms = none;
    EXPECT_EQ(gt_open(&options, &handle), GT_INVALID_ARGUMENT);
    EXPECT_THAT(gt_last_error(), HasSubstr("it must be 0 to 60000 milliseconds"));
  }
  options.refine_ms = 0;
  options.size = 8;
  EXPECT_EQ(gt_open(&options, &handle), GT_INVALID_ARGUMENT);
  EXPECT_THAT(gt_last_error(), StartsWith("options.size is 8: set it to sizeof(gt_options)"));
  EXPECT_EQ(handle, nullptr);
}

}  // namespace
}  // namespace gemm_tune
