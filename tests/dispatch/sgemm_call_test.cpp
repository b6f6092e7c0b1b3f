// SPDX-License-Identifier: Apache-2.0
#include "dispatch/sgemm_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace gemm_tune {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Addresses are only looked at, never read.
template <class T = const float*>
T address(std::uintptr_t value) {
  return reinterpret_cast<T>(value);
}

// A valid 64x48x32 call of packed matrices at 16-byte addresses.
SgemmCall valid() {
  SgemmCall call;
  call.M = 64;
  call.N = 48;
  call.K = 32;
  call.A = address(0x1000);
  call.lda = 32;
  call.B = address(0x2000);
  call.ldb = 48;
  call.C = address<float*>(0x3000);
  call.ldc = 48;
  return call;
}

void expect_refused(const SgemmCall& call, const char* text) {
  EXPECT_THAT([&] { check(call); }, ThrowsMessage<UsageError>(HasSubstr(text)));
}

TEST(SgemmCall, ThePackedCallIsValidAndOfItsOwnClass) {
  EXPECT_NO_THROW(check(valid()));
  EXPECT_EQ(problem_of(valid()), packed_problem(64, 48, 32));
  EXPECT_EQ(alignment_class(problem_of(valid())), 4);
}

TEST(SgemmCall, ALeadingDimensionLowersTheAlignmentClass) {
  SgemmCall call = valid();
  call.ldb = 50;
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.ldc = 49;
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
}

TEST(SgemmCall, AnAddressLowersTheAlignmentClass) {
  SgemmCall call = valid();
  call.A = address(0x1008);
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.C = address<float*>(0x3004);
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
}

TEST(SgemmCall, RefusesSizesOutOfRange) {
  SgemmCall call = valid();
  call.M = -1;
  expect_refused(call, "M is -1");
  call = valid();
  call.K = call.lda = 2'000'000'001;
  expect_refused(call, "K is 2000000001");
}

TEST(SgemmCall, RefusesLeadingDimensionsBelowTheWidth) {
  SgemmCall call = valid();
  call.lda = 31;
  expect_refused(call, "lda is 31: it must be at least 1 and K = 32");
  call = valid();
  call.ldb = 47;
  expect_refused(call, "ldb is 47");
  call = valid();
  call.ldc = 47;
  expect_refused(call, "ldc is 47");
  call = valid();
  call.K = call.lda = 0;
  expect_refused(call, "lda is 0");
}

// The least leading dimensions of a 64 x 48 x 32 product, by order and transposition.
struct LeastLd {
  Order order;
  bool transposed_a, transposed_b;
  std::int64_t lda, ldb, ldc;
};
constexpr LeastLd kLeastLds[] = {
    {Order::row_major, false, false, 32, 48, 48},    {Order::row_major, false, true, 32, 32, 48},
    {Order::row_major, true, false, 64, 48, 48},     {Order::row_major, true, true, 64, 32, 48},
    {Order::column_major, false, false, 64, 32, 64}, {Order::column_major, false, true, 64, 48, 64},
    {Order::column_major, true, false, 32, 32, 64},  {Order::column_major, true, true, 32, 48, 64},
};

SgemmCall valid(const LeastLd& least) {
  SgemmCall call = valid();
  call.order = least.order;
  call.transposed_a = least.transposed_a;
  call.transposed_b = least.transposed_b;
  call.lda = least.lda;
  call.ldb = least.ldb;
  call.ldc = least.ldc;
  return call;
}

TEST(SgemmCall, LeadingDimensionsAreAtLeastAStoredRowInEachOrderAndLayout) {
  for (const LeastLd& least : kLeastLds) {
    EXPECT_NO_THROW(check(valid(least)));
    SgemmCall call = valid(least);
    --call.lda;
    expect_refused(call, least.lda == 32 ? "lda is 31: it must be at least 1 and K = 32"
                                         : "lda is 63: it must be at least 1 and M = 64");
    call = valid(least);
    --call.ldb;
    expect_refused(call, least.ldb == 32 ? "ldb is 31: it must be at least 1 and K = 32"
                                         : "ldb is 47: it must be at least 1 and N = 48");
    call = valid(least);
    --call.ldc;
    expect_refused(call, least.ldc == 64 ? "ldc is 63: it must be at least 1 and M = 64"
                                         : "ldc is 47: it must be at least 1 and N = 48");
  }
}

TEST(SgemmCall, AColumnMajorCallIsTheRowMajorOneWithTheOperandsSwapped) {
  SgemmCall call = valid(kLeastLds[5]);  // A as it is, B transposed
  call.batch = 2;
  call.stride_a = 5000;
  call.stride_b = 6000;
  call.stride_c = 7000;
  const SgemmCall turned = in_row_major(call);
  EXPECT_EQ(turned.order, Order::row_major);
  EXPECT_TRUE(turned.transposed_a);
  EXPECT_FALSE(turned.transposed_b);
  EXPECT_EQ(turned.M, 48);
  EXPECT_EQ(turned.N, 64);
  EXPECT_EQ(turned.K, 32);
  EXPECT_EQ(turned.A, call.B);
  EXPECT_EQ(turned.B, call.A);
  EXPECT_EQ(turned.C, call.C);
  EXPECT_EQ(turned.lda, 48);
  EXPECT_EQ(turned.ldb, 64);
  EXPECT_EQ(turned.ldc, 64);
  EXPECT_EQ(turned.stride_a, 6000);
  EXPECT_EQ(turned.stride_b, 5000);
  EXPECT_EQ(turned.stride_c, 7000);
  EXPECT_NO_THROW(check(turned));
  EXPECT_EQ(to_string(problem_of(turned)), "48x64x32:layout=tn:batch=2");
}

TEST(SgemmCall, ARowMajorCallStaysAsItIs) {
  const SgemmCall same = in_row_major(valid(kLeastLds[2]));
  EXPECT_EQ(same.A, valid().A);
  EXPECT_EQ(same.M, 64);
  EXPECT_EQ(to_string(problem_of(same)), "64x48x32:layout=tn");
}

// Three packed matrices of each operand.
SgemmCall valid_batch() {
  SgemmCall call = valid();
  call.batch = 3;
  call.stride_a = 64 * 32;
  call.stride_b = 32 * 48;
  call.stride_c = 64 * 48;
  return call;
}

TEST(SgemmCall, AStrideLowersTheAlignmentClassOfABatchOnly) {
  EXPECT_EQ(problem_of(valid_batch()), packed_problem(64, 48, 32, Layout::nn, 3));
  SgemmCall call = valid_batch();
  call.stride_b += 2;
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.stride_a += 1;
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
  call.batch = 1;
  EXPECT_EQ(alignment_class(problem_of(call)), 4);
}

TEST(SgemmCall, OperandsOfABatchMayCoincideOrOverlap) {
  SgemmCall call = valid_batch();
  call.stride_a = 0;
  call.stride_b = 1;
  EXPECT_NO_THROW(check(call));
}

TEST(SgemmCall, RefusesNegativeStrides) {
  SgemmCall call = valid_batch();
  call.stride_a = -1;
  expect_refused(call, "stride_a is -1: it must not be negative");
  call = valid_batch();
  call.stride_b = -2048;
  expect_refused(call, "stride_b is -2048");
  call = valid_batch();
  call.stride_c = -3072;
  expect_refused(call, "stride_c is -3072");
  call.batch = 1;
  EXPECT_NO_THROW(check(call));
}

TEST(SgemmCall, RefusesMatricesOfCThatOverlap) {
  SgemmCall call = valid_batch();
  call.stride_c = 64 * 48 - 1;
  expect_refused(call, "stride_c is 3071: the matrices of C overlap");
  call.stride_c = 0;
  expect_refused(call, "stride_c is 0");
  call.ldc = 50;
  call.stride_c = 63 * 50 + 48;  // the last row's gap belongs to nobody
  EXPECT_NO_THROW(check(call));
  call.stride_c -= 1;
  expect_refused(call, "overlap");
  call.batch = 1;
  EXPECT_NO_THROW(check(call));
}

TEST(SgemmCall, MatricesOfCMayLieSideBySideInTheSameRows) {
  SgemmCall call = valid_batch();
  call.ldc = 3 * 48;
  call.stride_c = 48;
  EXPECT_NO_THROW(check(call));
  call.ldc -= 1;
  expect_refused(call, "overlap");
  call.ldc += 1;
  call.stride_c -= 1;
  expect_refused(call, "overlap");
  call.stride_c += 2;
  expect_refused(call, "overlap");  // the third ends in the next row
}

TEST(SgemmCall, ColumnsOfAColumnMajorCAreItsStoredRows) {
  SgemmCall call = valid(kLeastLds[4]);
  call.batch = 2;
  call.stride_a = call.stride_b = 1 << 20;
  call.stride_c = 47 * 64 + 64;
  EXPECT_NO_THROW(check(call));
  call.stride_c -= 1;
  expect_refused(call, "overlap");
}

TEST(SgemmCall, HugeStridesAndLeadingDimensionsDoNotOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  SgemmCall call = valid_batch();
  call.ldc = kHuge;
  call.stride_c = 3000;
  EXPECT_NO_THROW(check(call));
  call.ldc = 48;
  call.stride_c = kHuge;
  EXPECT_NO_THROW(check(call));
  call.ldc = kHuge;
  call.batch = 2'000'000'000;
  call.stride_c = kHuge;
  expect_refused(call, "overlap");
}

TEST(SgemmCall, APartOfABatchBeginsAtItsFirstEntry) {
  SgemmCall call = valid_batch();
  const SgemmCall part = part_of(call, 1, 2);
  EXPECT_EQ(part.A, address(0x1000 + 4 * 64 * 32));
  EXPECT_EQ(part.B, address(0x2000 + 4 * 32 * 48));
  EXPECT_EQ(part.C, address<float*>(0x3000 + 4 * 64 * 48));
  EXPECT_EQ(part.batch, 2);
  call.A = nullptr;  // not read
  EXPECT_EQ(part_of(call, 2, 1).A, nullptr);
}

TEST(SgemmCall, TheKernelGetsLeadingDimensionsAndStrides) {
  const GemmArgs args = args_of(valid_batch());
  EXPECT_EQ(args.M, 64);
  EXPECT_EQ(args.N, 48);
  EXPECT_EQ(args.K, 32);
  EXPECT_EQ(args.lda, 32);
  EXPECT_EQ(args.ldb, 48);
  EXPECT_EQ(args.ldc, 48);
  EXPECT_EQ(args.stride_a, 2048);
  EXPECT_EQ(args.stride_b, 1536);
  EXPECT_EQ(args.stride_c, 3072);
  EXPECT_EQ(args.counters, nullptr);
}

TEST(SgemmCall, RefusesNullAndPointersBetweenFloats) {
  SgemmCall call = valid();
  call.B = nullptr;
  expect_refused(call, "B is NULL");
  call = valid();
  call.C = nullptr;
  expect_refused(call, "C is NULL");
  call = valid();
  call.A = address(0x1002);
  expect_refused(call, "A is not aligned to 4 bytes");
}

TEST(SgemmCall, OperandsThatAreNotReadMayBeNull) {
  SgemmCall call = valid();
  call.A = call.B = nullptr;
  call.alpha = 0;
  EXPECT_NO_THROW(check(call));
  call.alpha = 1;
  call.K = 0;
  EXPECT_NO_THROW(check(call));
  call.M = 0;
  call.C = nullptr;
  EXPECT_NO_THROW(check(call));
}

TEST(SgemmCall, ChangesNothingByTheRulesOfBlas) {
  SgemmCall call = valid();
  EXPECT_FALSE(changes_nothing(call));
  call.K = 0;
  EXPECT_FALSE(changes_nothing(call));  // beta 0 clears C
  call.beta = 1;
  EXPECT_TRUE(changes_nothing(call));
  call.K = 32;
  EXPECT_FALSE(changes_nothing(call));
  call.alpha = 0;
  EXPECT_TRUE(changes_nothing(call));
  call.alpha = 1;
  call.N = 0;
  EXPECT_TRUE(changes_nothing(call));
  call = valid_batch();
  EXPECT_FALSE(changes_nothing(call));
  call.batch = 0;
  EXPECT_TRUE(changes_nothing(call));
}

}  // namespace
}  // namespace gemm_tune
