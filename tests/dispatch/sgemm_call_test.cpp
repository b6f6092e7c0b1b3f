#include "dispatch/sgemm_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(problem_of(valid()).alignment, 4);
}

TEST(SgemmCall, ALeadingDimensionLowersTheAlignmentClass) {
  SgemmCall call = valid();
  call.ldb = 50;
  EXPECT_EQ(problem_of(call).alignment, 2);
  call.ldc = 49;
  EXPECT_EQ(problem_of(call).alignment, 1);
}

TEST(SgemmCall, AnAddressLowersTheAlignmentClass) {
  SgemmCall call = valid();
  call.A = address(0x1008);
  EXPECT_EQ(problem_of(call).alignment, 2);
  call.C = address<float*>(0x3004);
  EXPECT_EQ(problem_of(call).alignment, 1);
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
}

}  // namespace
}  // namespace gemm_tune
