// SPDX-License-Identifier: Apache-2.0
// cuBLAS's arguments as a call of gt_gemm, or why not.
#include "dispatch/preload/cublas/cublas_call.h"

#include <gtest/gtest.h>

#include <set>

#include "core/problem/epilogue.h"
#include "tests/dispatch/call_fields.h"

namespace gemm_tune::preload {
namespace {

constexpr float kAlpha = 1.5F, kBeta = -0.5F;
float matrix_a, matrix_b, matrix_c;

// C[5,7] = A^T B with A stored 11 x 5 and B 11 x 7, column-major.
CublasCall good_call() {
  CublasCall call;
  call.op_a = 1;
  call.m = 5;
  call.n = 7;
  call.k = 11;
  call.alpha = &kAlpha;
  call.A = &matrix_a;
  call.lda = 13;
  call.B = &matrix_b;
  call.ldb = 17;
  call.beta = &kBeta;
  call.C = &matrix_c;
  call.ldc = 19;
  return call;
}

CublasCall typed(int ab, int c, int compute_type = 68) {
  CublasCall call = good_call();
  call.type_a = call.type_b = ab;
  call.type_c = c;
  call.compute_type = compute_type;
  return call;
}

void expect_served(const CublasCall& call, const HandleState& state = {},
                   const Arithmetic& arithmetic = {}) {
  const auto result = tuned_call(call, state, arithmetic);
  if (const Reason* const reason = std::get_if<Reason>(&result)) {
    ADD_FAILURE() << "declined: " << to_string(*reason);
  }
}

void expect_declined(Reason expected, const CublasCall& call, const HandleState& state = {},
                     const Arithmetic& arithmetic = {}) {
  const auto result = tuned_call(call, state, arithmetic);
  const Reason* const reason = std::get_if<Reason>(&result);
  ASSERT_NE(reason, nullptr) << "served, not declined: " << to_string(expected);
  EXPECT_EQ(*reason, expected) << to_string(*reason) << ", not " << to_string(expected);
}

HandleState math_mode(int mode) {
  HandleState state;
  state.math_mode = mode;
  return state;
}

TEST(CublasCallTest, TheAccuracyClassIsThatOfTheEnvironmentUnlessTheCallIsPedantic) {
  const auto accuracy = [](const CublasCall& call, const HandleState& state,
                           const Arithmetic& arithmetic) {
    return std::get<gt_gemm_call>(tuned_call(call, state, arithmetic)).accuracy;
  };
  Arithmetic f16x3;
  f16x3.accuracy = GT_ACCURACY_FP32_F16X3;
  EXPECT_EQ(accuracy(good_call(), {}, {}), GT_ACCURACY_FP32);
  EXPECT_EQ(accuracy(good_call(), {}, f16x3), GT_ACCURACY_FP32_F16X3);
  EXPECT_EQ(accuracy(good_call(), math_mode(kPedanticMath), f16x3), GT_ACCURACY_OF_TYPES);
  CublasCall pedantic = good_call();
  pedantic.compute_type = 69;
  EXPECT_EQ(accuracy(pedantic, {}, f16x3), GT_ACCURACY_OF_TYPES);
}

TEST(CublasCallTest, EveryArgumentFindsItsPlace) {
  CublasCall asked = good_call();
  asked.stride_a = 23;
  asked.stride_b = 29;
  asked.stride_c = 31;
  asked.batch = 37;
  const auto call = std::get<gt_gemm_call>(tuned_call(asked, {}, {}));
  EXPECT_EQ(call.size, sizeof(gt_gemm_call));
  EXPECT_EQ(call.order, GT_COLUMN_MAJOR);
  EXPECT_EQ(call.trans_a, GT_TRANSPOSE);
  EXPECT_EQ(call.trans_b, GT_NO_TRANSPOSE);
  EXPECT_EQ(types(call), (Numbers{GT_F32, GT_F32, GT_F32, GT_F32}));
  EXPECT_EQ(edges(call), (Numbers{5, 7, 11}));
  EXPECT_EQ(call.batch, 37);
  EXPECT_EQ(call.alpha, 1.5);
  EXPECT_EQ(call.beta, -0.5);
  EXPECT_EQ(call.A, &matrix_a);
  EXPECT_EQ(call.B, &matrix_b);
  EXPECT_EQ(call.C, &matrix_c);
  EXPECT_EQ(call.D, &matrix_c);
  EXPECT_EQ(leading_dimensions(call), (Numbers{13, 17, 19}));
  EXPECT_EQ(strides(call), (Numbers{23, 29, 31}));
  EXPECT_EQ(call.epilogue, 0U);
  EXPECT_EQ(call.operands[0], nullptr);
}

TEST(CublasCallTest, TheConjugateTransposeOfRealNumbersIsTheTranspose) {
  CublasCall asked = good_call();
  asked.op_a = 0;
  asked.op_b = 2;
  const auto call = std::get<gt_gemm_call>(tuned_call(asked, {}, {}));
  EXPECT_EQ(call.trans_a, GT_NO_TRANSPOSE);
  EXPECT_EQ(call.trans_b, GT_TRANSPOSE);
}

TEST(CublasCallTest, NonsenseIsForCublasToAnswer) {
  const auto expect_nonsense = [](auto change) {
    CublasCall call = good_call();
    change(call);
    expect_declined(Reason::arguments, call);
  };
  expect_nonsense([](CublasCall& call) { call.op_a = 3; });
  expect_nonsense([](CublasCall& call) { call.op_b = -1; });
  expect_nonsense([](CublasCall& call) { call.m = -1; });
  expect_nonsense([](CublasCall& call) { call.n = -5; });
  expect_nonsense([](CublasCall& call) { call.k = -1; });
  expect_nonsense([](CublasCall& call) { call.batch = -1; });
  expect_nonsense([](CublasCall& call) { call.lda = 0; });  // no packed matrix, as to gt_gemm
  expect_nonsense([](CublasCall& call) { call.ldb = 0; });
  expect_nonsense([](CublasCall& call) { call.ldc = 0; });
}

TEST(CublasCallTest, ANullAddressIsForCublasToAnswer) {
  const auto expect_null = [](auto member) {
    CublasCall call = good_call();
    call.*member = nullptr;
    expect_declined(Reason::null_address, call);
    call.m = 0;
    expect_declined(Reason::empty, call);
  };
  expect_null(&CublasCall::A);
  expect_null(&CublasCall::B);
  expect_null(&CublasCall::C);
  expect_null(&CublasCall::alpha);
  expect_null(&CublasCall::beta);
}

TEST(CublasCallTest, NothingToMultiplyIsLeftToCublas) {
  for (std::int64_t CublasCall::*const size :
       {&CublasCall::m, &CublasCall::n, &CublasCall::k, &CublasCall::batch}) {
    CublasCall call = good_call();
    call.*size = 0;
    expect_declined(Reason::empty, call);
  }
}

TEST(CublasCallTest, ABatchOfPointersIsCalledOneAndGroupsAreLeftToCublas) {
  CublasCall asked = good_call();
  EXPECT_EQ(std::get<gt_gemm_call>(tuned_call(asked, {}, {})).batch_kind, GT_STRIDED);
  asked.batch_kind = BatchKind::pointers;
  EXPECT_EQ(std::get<gt_gemm_call>(tuned_call(asked, {}, {})).batch_kind, GT_POINTERS);
  asked.batch_kind = BatchKind::groups;
  expect_declined(Reason::groups, asked);
}

TEST(CublasCallTest, AnInvalidCallHasTheReasonThatHoldsForIt) {
  const auto reason = [](auto change) {
    CublasCall call = good_call();
    change(call);
    return why_invalid(call);
  };
  const auto* const odd = reinterpret_cast<const float*>(0x1002);
  EXPECT_EQ(reason([&](CublasCall& call) { call.A = odd; }), Reason::misaligned);
  EXPECT_EQ(reason([&](CublasCall& call) { call.bias = odd; }), Reason::misaligned);
  EXPECT_EQ(reason([](CublasCall& call) { call.lda = 10; }), Reason::arguments);  // K is 11
  EXPECT_EQ(reason([](CublasCall& call) { call.ldb = 10; }), Reason::arguments);
  EXPECT_EQ(reason([](CublasCall& call) { call.ldc = 4; }), Reason::arguments);
  EXPECT_EQ(reason([](CublasCall& call) { call.m = 2'000'000'001; }), Reason::arguments);
  EXPECT_EQ(reason([](CublasCall& call) { call.batch = 2, call.stride_b = -1; }),
            Reason::arguments);
  EXPECT_EQ(reason([](CublasCall& call) { call.batch = 2; }), Reason::overlap);
}

TEST(CublasCallTest, ABatchOfSeveralLaunchesIsLeftToCublas) {
  CublasCall call = good_call();
  call.batch = 65535;
  expect_served(call);
  call.batch = 65536;
  expect_declined(Reason::batch, call);
}

TEST(CublasCallTest, AnAlgorithmThatIsNamedIsUsed) {
  for (const int algorithm : {-1, 99}) {
    CublasCall call = good_call();
    call.algorithm = algorithm;
    expect_served(call);
  }
  for (const int algorithm : {0, 23, 100, 115, 999, -2}) {
    CublasCall call = good_call();
    call.algorithm = algorithm;
    expect_declined(Reason::algorithm, call);
  }
}

TEST(CublasCallTest, AnEpilogueKeepsItsBias) {
  const float bias = 0;
  CublasCall asked = good_call();
  asked.bias = &bias;
  asked.input_c = &matrix_a;
  for (const auto& [epilogue, expected] :
       {std::pair(1, "none"), std::pair(2, "relu"), std::pair(4, "bias_row"),
        std::pair(6, "bias_row+relu")}) {
    asked.epilogue = epilogue;
    const auto call = std::get<gt_gemm_call>(tuned_call(asked, {}, {}));
    EXPECT_EQ(call.epilogue, find_epilogue(expected)->bits());
    EXPECT_EQ(call.operands[0], (epilogue & 4) != 0 ? &bias : nullptr);
    EXPECT_EQ(call.C, &matrix_a);
    EXPECT_EQ(call.D, &matrix_c);
  }
  for (const int epilogue : {0, 130, 134, 136, 192, 256, 512}) {
    asked.epilogue = epilogue;
    expect_declined(Reason::epilogue, asked);
  }
}

TEST(CublasCallTest, ScalarsOnTheDeviceAreNotRead) {
  HandleState state;
  for (const int mode : {1, 2}) {
    state.pointer_mode = mode;
    CublasCall call = good_call();
    call.alpha = call.beta = reinterpret_cast<const void*>(16);
    expect_declined(Reason::scalars, call, state);
  }
}

TEST(CublasCallTest, AnSmCountTargetIsForCublas) {
  HandleState state;
  state.sm_count_target = 64;
  expect_declined(Reason::sm_count_target, good_call(), state);
}

TEST(CublasCallTest, Fp32KeepsItsArithmetic) {
  for (const int mode : {0, 2, 16, 18}) expect_served(good_call(), math_mode(mode));
  // Tensor operations, TF32, BF16x9, fp64 emulation, and numbers of a later cuBLAS.
  for (const int mode : {1, 3, 4, 8, 19, 5, 32, -1}) {
    expect_declined(Reason::math_mode, good_call(), math_mode(mode));
  }
  for (const int compute_type : {68, 69}) expect_served(typed(0, 0, compute_type));
  for (const int compute_type : {64, 70, 74, 75, 77, 78, 0}) {
    expect_declined(Reason::compute_type, typed(0, 0, compute_type));
  }
}

TEST(CublasCallTest, TheEnvironmentMayForbidOrForceOtherArithmetic) {
  Arithmetic never_tf32;
  never_tf32.never_tf32 = true;
  expect_served(good_call(), math_mode(3), never_tf32);
  expect_declined(Reason::math_mode, good_call(), math_mode(4), never_tf32);
  Arithmetic forced;
  forced.forced_tf32 = true;
  expect_declined(Reason::math_mode, good_call(), {}, forced);
  Arithmetic emulated;
  emulated.emulated = true;
  expect_declined(Reason::emulation, good_call(), {}, emulated);
  HandleState eager;
  eager.emulation_strategy = 2;
  expect_declined(Reason::emulation, good_call(), eager);
}

TEST(CublasCallTest, SixteenBitsAreServedWithSumsInFp32) {
  for (const auto& [type, expected] : {std::pair(2, GT_F16), std::pair(14, GT_BF16)}) {
    const auto same = std::get<gt_gemm_call>(tuned_call(typed(type, type), {}, {}));
    EXPECT_EQ(same.type_a, expected);
    EXPECT_EQ(same.type_b, expected);
    EXPECT_EQ(same.type_c, expected);
    EXPECT_EQ(same.type_d, expected);
    const auto wider = std::get<gt_gemm_call>(tuned_call(typed(type, 0), {}, {}));
    EXPECT_EQ(wider.type_a, expected);
    EXPECT_EQ(wider.type_d, GT_F32);
    for (const int mode : {0, 1, 3, 16, 19}) expect_served(typed(type, type), math_mode(mode));
    for (const int mode : {2, 4, 8, 18}) {
      expect_declined(Reason::math_mode, typed(type, type), math_mode(mode));
    }
    for (const int compute_type : {64, 65, 69, 74, 77}) {
      expect_declined(Reason::compute_type, typed(type, type, compute_type));
    }
  }
}

TEST(CublasCallTest, OtherTypesAreLeftToCublas) {
  CublasCall mixed = typed(2, 2);
  mixed.type_b = 14;
  expect_declined(Reason::types, mixed);
  expect_declined(Reason::types, typed(0, 2));   // f32 operands, an f16 result
  expect_declined(Reason::types, typed(2, 14));  // f16 operands, a bf16 result
  expect_declined(Reason::types, typed(1, 1));   // f64
  expect_declined(Reason::types, typed(3, 0));   // int8
  expect_declined(Reason::types, typed(4, 4));   // complex
  expect_declined(Reason::types, typed(-7, 0));
}

gt_recipe recipe(gt_match match, double tuned_us, double baseline_us, double distance) {
  gt_recipe made{};
  made.match = match;
  made.tuned_us = tuned_us;
  made.baseline_us = baseline_us;
  made.distance = distance;
  return made;
}

TEST(CublasCallTest, AWinnerServesThatWasTimedAndNotSlowerAndNotFarAway) {
  EXPECT_EQ(objection(recipe(GT_MATCH_EXACT, 9, 10, 1), 1), std::nullopt);
  EXPECT_EQ(objection(recipe(GT_MATCH_EXACT, 10, 10, 1), 1), std::nullopt);
  EXPECT_EQ(objection(recipe(GT_MATCH_EXACT, 10.1, 10, 1), 4), Reason::slower);
  EXPECT_EQ(objection(recipe(GT_MATCH_NEAREST, 9, 10, 4), 4), std::nullopt);
  EXPECT_EQ(objection(recipe(GT_MATCH_NEAREST, 9, 10, 4.1), 4), Reason::distant);
  EXPECT_EQ(objection(recipe(GT_MATCH_EXACT, 0, 0, 1), 4), Reason::untimed);
  EXPECT_EQ(objection(recipe(GT_MATCH_EXACT, 9, 0, 1), 4), Reason::untimed);
  EXPECT_EQ(objection(recipe(GT_MATCH_DEFAULT, 9, 10, 2), 4), Reason::untuned);
  EXPECT_EQ(objection(recipe(GT_MATCH_DEFAULT, 0, 0, 0), 4), Reason::untuned);
  EXPECT_EQ(objection(recipe(GT_MATCH_NONE, 0, 0, 0), 4), Reason::untuned);
}

gt_recipe expected(gt_match match, double expected_us, double cublas_us, double distance) {
  gt_recipe made = recipe(match, 9, 10, distance);
  made.expected_us = expected_us;
  made.cublas_us = cublas_us;
  return made;
}

TEST(CublasCallTest, AKernelServesAnUntunedProblemOnlyWhereItIsExpectedToBeClearlyFaster) {
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 30, 20, 2), 4), Reason::slower);
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 19.5, 20, 2), 4), Reason::slower);
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 18.5, 20, 2), 4), std::nullopt);
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 19.9, 20, 1), 4), std::nullopt);
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 19.2, 20, 2), 4), std::nullopt);
  EXPECT_EQ(objection(expected(GT_MATCH_NEAREST, 18.8, 20, 4), 4), Reason::slower);
}

TEST(CublasCallTest, WhereNothingIsExpectedTheTimesOfTheTunedProblemDecide) {
  EXPECT_EQ(objection(recipe(GT_MATCH_NEAREST, 11, 10, 2), 4), Reason::slower);
  EXPECT_EQ(objection(recipe(GT_MATCH_NEAREST, 9, 10, 2), 4), std::nullopt);
}

TEST(CublasCallTest, AWinnersSpecialisationServesOnlyWhereItIsNotExpectedToBeSlowerThanCublas) {
  EXPECT_EQ(objection(expected(GT_MATCH_EXACT, 10.1, 10, 1), 4), Reason::slower);
  EXPECT_EQ(objection(expected(GT_MATCH_EXACT, 9.9, 10, 1), 4), std::nullopt);
}

TEST(CublasCallTest,
     ACallThatTheLibraryFailedAtMayBeServedOnceItIsTunedButOneWithForeignTypesMayNot) {
  EXPECT_TRUE(tuning_may_help(Reason::failed));  // as on a machine whose driver is too old
  EXPECT_TRUE(tuning_may_help(Reason::library));
  EXPECT_FALSE(tuning_may_help(Reason::types));
}

TEST(CublasCallTest, EveryReasonHasWordsOfItsOwn) {
  std::set<std::string_view> words;
  for (int reason = 0; reason < kReasons; ++reason) {
    words.insert(to_string(static_cast<Reason>(reason)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(kReasons));
  EXPECT_EQ(words.count("unknown"), 0U);
}

}  // namespace
}  // namespace gemm_tune::preload
