// SPDX-License-Identifier: Apache-2.0
// Prepared operands where no GPU is needed: which calls they are of, and what gt_prepare refuses.
#include "dispatch/prepared_operand.h"

#include <string>

#include "dispatch/c_values.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

const void* at_address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

gt_gemm_call call_with_weights() {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = 64;
  call.N = 48;
  call.K = 32;
  call.accuracy = GT_ACCURACY_FP32_F16X3;
  call.B = at_address(0x2000);
  return call;
}

OperandPlace place_in(const gt_gemm_call& call, gt_operand operand = GT_OPERAND_B,
                      int ordinal = 0) {
  return place_of(operand, call.order, row_major_call(call, Addresses::optional), ordinal);
}

void expect_refused(const OperandPlace& prepared, const gt_gemm_call& called, const char* text) {
  EXPECT_THAT([&] { check_same_place(GT_OPERAND_B, prepared, place_in(called)); },
              ThrowsMessage<UsageError>(HasSubstr(text)));
}

TEST(PreparedOperand, IsTheSameForEveryMAndEveryA) {
  const OperandPlace prepared = place_in(call_with_weights());
  gt_gemm_call other = call_with_weights();
  other.M = 7;
  other.trans_a = GT_TRANSPOSE;
  other.A = at_address(0x1000);
  other.alpha = 2;
  other.epilogue = gt_epilogue_named("relu");
  EXPECT_NO_THROW(check_same_place(GT_OPERAND_B, prepared, place_in(other)));
}

TEST(PreparedOperand, IsTheSameInEitherOrderOfStorage) {
  const OperandPlace prepared = place_in(call_with_weights());
  EXPECT_EQ(prepared.lines, 48);
  EXPECT_FALSE(prepared.lies_along_k);
  gt_gemm_call by_columns = call_with_weights();
  by_columns.order = GT_COLUMN_MAJOR;
  by_columns.trans_b = GT_TRANSPOSE;
  EXPECT_EQ(place_in(by_columns), prepared);
  // The same memory as a left operand of 48 rows.
  gt_gemm_call as_a = call_with_weights();
  as_a.M = 48;
  as_a.N = 5;
  as_a.trans_a = GT_TRANSPOSE;
  as_a.A = at_address(0x2000);
  as_a.B = nullptr;
  EXPECT_EQ(place_in(as_a, GT_OPERAND_A), prepared);
}

TEST(PreparedOperand, IsRefusedForAnotherMatrixOrDevice) {
  const OperandPlace prepared = place_in(call_with_weights());
  const auto expect_refused_where = [&](auto gt_gemm_call::*member, auto value, const char* text) {
    gt_gemm_call other = call_with_weights();
    other.*member = value;
    expect_refused(prepared, other, text);
  };
  using Call = gt_gemm_call;
  expect_refused_where(&Call::N, 40,
                       "call.prepared_b was prepared with N = 48, and the call has 40");
  expect_refused_where(&Call::K, 24, "K = 32");
  expect_refused_where(&Call::batch, 2, "batch = 1");
  expect_refused_where(&Call::B, at_address(0x3000), "another address than B's");
  expect_refused_where(&Call::trans_b, GT_TRANSPOSE, "stored by rows");
  expect_refused_where(&Call::ldb, 50, "ldb = 48, and the call has 50");
  expect_refused_where(&Call::accuracy, GT_ACCURACY_FP32, "class fp32_f16x3, and the call of fp32");
  expect_refused_where(&Call::type_b, GT_F16, "is of f32, and the call's operand of f16");
  expect_refused(place_in(call_with_weights(), GT_OPERAND_B, 1), call_with_weights(),
                 "is on device 1, and the current device is 0");
}

TEST(PreparedOperand, OfABatchCountsTheStride) {
  gt_gemm_call call = call_with_weights();
  call.batch = 3;
  const OperandPlace prepared = place_in(call);
  EXPECT_EQ(prepared.stride, 48 * 32);
  call.ldb = 48;
  call.stride_b = 0;  // one B for all
  expect_refused(prepared, call, "stride_b = 1536, and the call has 0");
}

TEST(PreparedOperand, IsTakenByCallsThatNameIt) {
  gt_gemm_call call = call_with_weights();
  gt_prepared prepared{{place_in(call), {}}};
  call.prepared_b = &prepared;
  GemmCall own = row_major_call(call, Addresses::optional);
  EXPECT_NO_THROW(take_prepared(call, 0, own));
  EXPECT_THROW(take_prepared(call, 1, own), UsageError);
  call.prepared_a = &prepared;
  EXPECT_THROW(take_prepared(call, 0, own), UsageError);
}

class PrepareTest : public testing::Test {
 protected:
  PrepareTest() {
    const auto file = temp_.path() / "winners.db";
    write_sample_database(file);
    EXPECT_EQ(open_kernels(file.c_str(), nullptr, &handle_), GT_OK) << gt_last_error();
  }
  ~PrepareTest() override { gt_close(handle_); }

  void expect_refused(const gt_gemm_call& call, gt_operand operand, const char* text) {
    gt_prepared* prepared = nullptr;
    EXPECT_EQ(gt_prepare(handle_, nullptr, &call, operand, &prepared), GT_INVALID_ARGUMENT);
    EXPECT_THAT(gt_last_error(), HasSubstr(text));
    EXPECT_EQ(prepared, nullptr);
  }

  const TempFolder temp_;
  gt_handle* handle_ = nullptr;
};

TEST_F(PrepareTest, RefusesWhatHasNothingToPrepare) {
  gt_gemm_call call = call_with_weights();
  expect_refused(call, GT_OPERAND_A, "A is NULL");
  expect_refused(call, static_cast<gt_operand>(2), "operand is 2");
  call.K = 0;
  expect_refused(call, GT_OPERAND_B, "B has no elements to prepare: N, K or batch is 0");
  call = call_with_weights();
  call.ldb = 47;
  expect_refused(call, GT_OPERAND_B, "ldb is 47");
  call = call_with_weights();
  call.batch = 65536;
  expect_refused(call, GT_OPERAND_B, "batch is 65536: operands of at most 65535 matrices");
  call.batch = 2;
  call.batch_kind = GT_POINTERS;
  expect_refused(call, GT_OPERAND_B, "GT_POINTERS");
  gt_release(nullptr);
}

TEST_F(PrepareTest, RefusesNullArguments) {
  const gt_gemm_call call = call_with_weights();
  gt_prepared* prepared = nullptr;
  EXPECT_EQ(gt_prepare(nullptr, nullptr, &call, GT_OPERAND_B, &prepared), GT_INVALID_ARGUMENT);
  EXPECT_EQ(gt_prepare(handle_, nullptr, nullptr, GT_OPERAND_B, &prepared), GT_INVALID_ARGUMENT);
  EXPECT_EQ(gt_prepare(handle_, nullptr, &call, GT_OPERAND_B, nullptr), GT_INVALID_ARGUMENT);
  EXPECT_THAT(gt_last_error(), HasSubstr("prepared is NULL"));
}

}  // namespace
}  // namespace gemm_tune
