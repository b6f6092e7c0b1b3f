// SPDX-License-Identifier: Apache-2.0
#include "dispatch/checked_call.h"

#include <limits>
#include <string>
#include <utility>

#include "core/error.h"
#include "kernel_templates/product_plan.h"
#include "tests/dispatch/call_fields.h"
#include "tests/epilogues.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

// Addresses are only looked at, never read.
template <class T = const float*>
T address(std::uintptr_t value) {
  return reinterpret_cast<T>(value);
}

// A valid 64x48x32 call of packed matrices at 16-byte addresses.
GemmCall valid() {
  return in_place(packed_call(packed_problem(64, 48, 32)), address(0x1000), address(0x2000),
                  address<float*>(0x3000));
}

void expect_refused(GemmCall call, const char* text, Order order = Order::row_major,
                    Addresses addresses = Addresses::needed) {
  EXPECT_THAT([&] { check(call, order, addresses); }, ThrowsMessage<UsageError>(HasSubstr(text)));
}

// Nothing is filled in where leading dimensions are given.
void expect_valid(const GemmCall& call, Order order = Order::row_major,
                  Addresses addresses = Addresses::needed) {
  GemmCall checked = call;
  EXPECT_NO_THROW(check(checked, order, addresses));
  EXPECT_EQ(checked, call);
}

GemmCall row_major(GemmCall call, Order order) {
  make_row_major(call, order);
  return call;
}

TEST(CheckedCall, ThePackedCallIsValidAndOfItsOwnClass) {
  expect_valid(valid());
  EXPECT_EQ(problem_of(valid()), packed_problem(64, 48, 32));
  EXPECT_EQ(alignment_class(problem_of(valid())), 4);
}

TEST(CheckedCall, ALeadingDimensionLowersTheAlignmentClass) {
  GemmCall call = valid();
  call.ldb = 50;
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.ldc = 49;
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
}

TEST(CheckedCall, AnAddressLowersTheAlignmentClass) {
  GemmCall call = valid();
  call.A = address(0x1008);
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.C = address<float*>(0x3004);
  call.beta = 0;  // C is not read
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.beta = 1;
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
}

TEST(CheckedCall, RefusesSizesOutOfRange) {
  GemmCall call = valid();
  call.problem.M = -1;
  expect_refused(call, "M is -1");
  call = valid();
  call.problem.K = call.lda = 2'000'000'001;
  expect_refused(call, "K is 2000000001");
}

TEST(CheckedCall, RefusesLeadingDimensionsBelowTheWidth) {
  GemmCall call = valid();
  call.lda = 31;
  expect_refused(call, "lda is 31: it must be at least 1 and K = 32");
  call = valid();
  call.ldb = 47;
  expect_refused(call, "ldb is 47");
  call = valid();
  call.ldc = 47;
  expect_refused(call, "ldc is 47");
  call.ldc = -1;
  expect_refused(call, "ldc is -1");
}

TEST(CheckedCall, ACallThatIsOnlyLookedUpNeedsNoAddress) {
  GemmCall call = packed_call(packed_problem(64, 48, 32));
  call.beta = 1;
  call.problem.epilogue = kBiasColumn;
  expect_valid(call, Order::row_major, Addresses::optional);
  expect_refused(call, "A is NULL");
  call.A = address(0x1002);
  expect_refused(call, "A is not aligned to 4 bytes", Order::row_major, Addresses::optional);
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

GemmCall valid(const LeastLd& least) {
  GemmCall call = valid();
  call.problem.layout = layout_of(least.transposed_a, least.transposed_b);
  call.lda = least.lda;
  call.ldb = least.ldb;
  call.ldc = least.ldc;
  return call;
}

TEST(CheckedCall, ALeadingDimensionOfZeroIsThatOfAPackedMatrix) {
  for (const LeastLd& least : kLeastLds) {
    GemmCall call = valid(least);
    call.problem.batch = 3;
    call.lda = call.ldb = call.ldc = 0;
    call.stride_a = call.stride_b = call.stride_c = 0;
    check(call, least.order, Addresses::needed);
    EXPECT_EQ(call.lda, least.lda);
    EXPECT_EQ(call.ldb, least.ldb);
    EXPECT_EQ(call.ldc, least.ldc);
    EXPECT_EQ(call.stride_a, 64 * 32);
    EXPECT_EQ(call.stride_b, 32 * 48);
    EXPECT_EQ(call.stride_c, 64 * 48);
  }
  GemmCall call = valid();
  call.problem.batch = 2;
  call.lda = 0;
  call.stride_a = 5000;  // stays, as a stride of 0 beside a leading dimension does
  call.stride_b = 0;
  check(call, Order::row_major, Addresses::needed);
  EXPECT_EQ(call.lda, 32);
  EXPECT_EQ(call.stride_a, 5000);
  EXPECT_EQ(call.stride_b, 0);
  call = valid();
  call.problem.K = call.lda = 0;
  check(call, Order::row_major, Addresses::needed);
  EXPECT_EQ(call.lda, 1);
}

constexpr std::pair<const char*, std::int64_t GemmCall::*> kLeadingDimensions[] = {
    {"lda", &GemmCall::lda}, {"ldb", &GemmCall::ldb}, {"ldc", &GemmCall::ldc}};

TEST(CheckedCall, LeadingDimensionsAreAtLeastAStoredRowInEachOrderAndLayout) {
  for (const LeastLd& least : kLeastLds) {
    expect_valid(valid(least), least.order);
    for (const auto& [name, ld] : kLeadingDimensions) {
      GemmCall call = valid(least);
      const std::int64_t stored = (call.*ld)--;
      const char* edge = stored == 64 ? "M = 64" : stored == 48 ? "N = 48" : "K = 32";
      expect_refused(call,
                     (std::string(name) + " is " + std::to_string(stored - 1) +
                      ": it must be at least 1 and " + edge)
                         .c_str(),
                     least.order);
    }
  }
}

TEST(CheckedCall, AColumnMajorCallIsTheRowMajorOneWithTheOperandsSwapped) {
  GemmCall call = valid(kLeastLds[5]);  // A as it is, B transposed
  call.problem.batch = 2;
  call.stride_a = 5000;
  call.stride_b = 6000;
  call.stride_c = 7000;
  const GemmCall turned = row_major(call, Order::column_major);
  EXPECT_EQ(turned.problem.layout, Layout::tn);
  EXPECT_EQ(edges(turned.problem), (Numbers{48, 64, 32}));
  EXPECT_EQ(turned.A, call.B);
  EXPECT_EQ(turned.B, call.A);
  EXPECT_EQ(turned.C, call.C);
  EXPECT_EQ(leading_dimensions(turned), (Numbers{48, 64, 64}));
  EXPECT_EQ(strides(turned), (Numbers{6000, 5000, 7000}));
  expect_valid(turned);
  EXPECT_EQ(to_string(problem_of(turned)), "48x64x32:layout=tn:batch=2");
}

TEST(CheckedCall, ARowMajorCallStaysAsItIs) {
  const GemmCall same = row_major(valid(kLeastLds[2]), Order::row_major);
  EXPECT_EQ(same.A, valid().A);
  EXPECT_EQ(same.problem.M, 64);
  EXPECT_EQ(to_string(problem_of(same)), "64x48x32:layout=tn");
}

// Three packed matrices of each operand.
GemmCall valid_batch() {
  GemmCall call = valid();
  call.problem.batch = 3;
  return call;
}

TEST(CheckedCall, AStrideLowersTheAlignmentClassOfABatchOnly) {
  EXPECT_EQ(problem_of(valid_batch()), packed_problem(64, 48, 32, Layout::nn, 3));
  GemmCall call = valid_batch();
  call.stride_b += 2;
  EXPECT_EQ(alignment_class(problem_of(call)), 2);
  call.stride_a += 1;
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
  call.problem.batch = 1;
  EXPECT_EQ(alignment_class(problem_of(call)), 4);
}

TEST(CheckedCall, OperandsOfABatchMayCoincideOrOverlap) {
  GemmCall call = valid_batch();
  call.stride_a = 0;
  call.stride_b = 1;
  expect_valid(call);
}

TEST(CheckedCall, ASeparateCMayBeMissingWhereItIsNotRead) {
  GemmCall call = valid();
  call.C = nullptr;
  call.beta = 0;
  expect_valid(call);
  call.beta = 1;
  expect_refused(call, "C is NULL");
  call = valid();
  call.D = nullptr;
  expect_refused(call, "D is NULL");
  call.C = nullptr;
  expect_refused(call, "D is NULL");
}

TEST(CheckedCall, ACopyOfCIsAChange) {
  GemmCall call = valid();
  call.alpha = 0;
  call.beta = 1;
  EXPECT_TRUE(changes_nothing(call));
  call.C = address(0x9000);
  EXPECT_FALSE(changes_nothing(call));
}

TEST(CheckedCall, AddressesAreMultiplesOfTheirElements) {
  GemmCall call = valid();
  call.A = address(0x1002);
  expect_refused(call, "A is not aligned to 4 bytes");
  call.problem.signature = signature_of(ElementType::bf16, ElementType::f32);
  expect_valid(call);
  EXPECT_EQ(alignment_class(problem_of(call)), 1);
  call.A = address(0x1010);
  EXPECT_EQ(alignment_class(problem_of(call)), 8);
  call.D = address<float*>(0x3002);
  expect_refused(call, "D is not aligned to 4 bytes");
}

TEST(CheckedCall, APartOfABatchIsCountedInBytesOfEachType) {
  GemmCall call = valid();
  call.problem.signature = signature_of(ElementType::f16, ElementType::f32);
  call.problem.batch = 3;
  call.C = nullptr;
  const GemmCall part = part_of(call, 1, 2);
  EXPECT_EQ(part.A, address(0x1000 + 2 * 64 * 32));
  EXPECT_EQ(part.D, address<float*>(0x3000 + 4 * 64 * 48));
  EXPECT_EQ(part.C, nullptr);
  EXPECT_EQ(part.problem.batch, 2);
}

TEST(CheckedCall, ABatchOfPointersHasArraysOfAddressesAndNoStrides) {
  GemmCall call = valid();
  call.problem.batch_kind = BatchKind::pointers;
  call.problem.batch = 5;
  call.stride_a = -1;
  call.stride_c = 0;
  expect_valid(call);
  const GemmCall part = part_of(call, 3, 2);
  EXPECT_EQ(part.problem.batch, 2);
  EXPECT_EQ(part.A, address(0x1018));
  EXPECT_EQ(part.B, address(0x2018));
  EXPECT_EQ(part.C, address(0x3018));
  EXPECT_EQ(part.D, address(0x3018));
  call.A = address(0x1004);
  expect_refused(call, "A is not aligned to 8 bytes");
  call.A = nullptr;
  expect_refused(call, "A is NULL");
  call = valid();
  call.problem.batch_kind = BatchKind::pointers;
  call.problem.epilogue = *find_epilogue("residual");
  call.operands[0] = address(0x4000);
  expect_refused(call, "call has the epilogue residual, whose operand lies as D does");
}

TEST(CheckedCall, RefusesNegativeStrides) {
  GemmCall call = valid_batch();
  call.stride_a = -1;
  expect_refused(call, "stride_a is -1: it must not be negative");
  call = valid_batch();
  call.stride_b = -2048;
  expect_refused(call, "stride_b is -2048");
  call = valid_batch();
  call.stride_c = -3072;
  expect_refused(call, "stride_c is -3072");
  call.problem.batch = 1;
  expect_valid(call);
}

TEST(CheckedCall, RefusesMatricesOfCThatOverlap) {
  GemmCall call = valid_batch();
  call.stride_c = 64 * 48 - 1;
  expect_refused(call, "stride_c is 3071: the matrices of D overlap");
  call.stride_c = 0;
  expect_refused(call, "stride_c is 0");
  call.ldc = 50;
  call.stride_c = 63 * 50 + 48;  // the last row's gap belongs to nobody
  expect_valid(call);
  call.stride_c -= 1;
  expect_refused(call, "overlap");
  call.problem.batch = 1;
  expect_valid(call);
}

TEST(CheckedCall, MatricesOfCMayLieSideBySideInTheSameRows) {
  GemmCall call = valid_batch();
  call.ldc = 3 * 48;
  call.stride_c = 48;
  expect_valid(call);
  call.ldc -= 1;
  expect_refused(call, "overlap");
  call.ldc += 1;
  call.stride_c -= 1;
  expect_refused(call, "overlap");
  call.stride_c += 2;
  expect_refused(call, "overlap");  // the third ends in the next row
}

TEST(CheckedCall, ColumnsOfAColumnMajorCAreItsStoredRows) {
  GemmCall call = valid(kLeastLds[4]);
  call.problem.batch = 2;
  call.stride_a = call.stride_b = 1 << 20;
  call.stride_c = 47 * 64 + 64;
  expect_valid(call, Order::column_major);
  call.stride_c -= 1;
  expect_refused(call, "overlap", Order::column_major);
}

TEST(CheckedCall, HugeStridesAndLeadingDimensionsDoNotOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 47;
  GemmCall call = valid_batch();
  call.ldc = std::numeric_limits<std::int64_t>::max();  // its bytes would overflow
  expect_refused(call, "at most 2^47");
  call.ldc = kHuge;
  call.stride_c = 3000;
  expect_valid(call);
  call.ldc = 48;
  call.stride_c = kHuge;
  expect_valid(call);
  call.ldc = kHuge;
  call.problem.batch = 2'000'000'000;
  call.stride_c = kHuge;
  expect_refused(call, "overlap");
}

TEST(CheckedCall, APartOfABatchBeginsAtItsFirstEntry) {
  GemmCall call = valid_batch();
  const GemmCall part = part_of(call, 1, 2);
  EXPECT_EQ(part.A, address(0x1000 + 4 * 64 * 32));
  EXPECT_EQ(part.B, address(0x2000 + 4 * 32 * 48));
  EXPECT_EQ(part.C, address<float*>(0x3000 + 4 * 64 * 48));
  EXPECT_EQ(part.D, part.C);
  EXPECT_EQ(part.problem.batch, 2);
  call.A = nullptr;  // not read
  EXPECT_EQ(part_of(call, 2, 1).A, nullptr);
}

// Of a kernel with 64 x 64 tiles.
GemmArgs kernels_argument(const GemmCall& call) {
  LaunchRecipe recipe;
  recipe.tile_m = recipe.tile_n = 64;
  return product_argument(product_plan(recipe, call.problem, 1), call, nullptr);
}

TEST(CheckedCall, TheKernelGetsLeadingDimensionsAndStrides) {
  GemmCall call = valid_batch();
  call.alpha = 0.75;
  call.beta = -0.5;
  const GemmArgs args = kernels_argument(call);
  EXPECT_EQ(edges(args), (Numbers{64, 48, 32}));
  EXPECT_EQ(leading_dimensions(args), (Numbers{32, 48, 48}));
  EXPECT_EQ(strides(args), (Numbers{2048, 1536, 3072}));
  EXPECT_EQ(args.alpha, 0.75F);
  EXPECT_EQ(args.beta, -0.5F);
  EXPECT_EQ(args.A, call.A);
  EXPECT_EQ(args.B, call.B);
  EXPECT_EQ(args.C, call.C);
  EXPECT_EQ(args.D, call.D);
  EXPECT_EQ(args.counters, nullptr);
}

TEST(CheckedCall, CIsReadInPlaceOrFromAMatrixOfItsOwn) {
  GemmCall call = valid();
  call.C = address(0x9000);
  call.beta = 0.5;
  EXPECT_EQ(c_operand(call), COperand::separate);
  EXPECT_EQ(kernels_argument(call).C, call.C);
  call.beta = 0;  // not read
  EXPECT_EQ(c_operand(call), COperand::in_place);
  call.beta = 0.5;
  call.C = call.D;
  EXPECT_EQ(c_operand(call), COperand::in_place);
}

TEST(CheckedCall, RefusesNullAndPointersBetweenFloats) {
  GemmCall call = valid();
  call.B = nullptr;
  expect_refused(call, "B is NULL");
  call = valid();
  call.C = call.D = nullptr;
  expect_refused(call, "D is NULL");
  call = valid();
  call.A = address(0x1002);
  expect_refused(call, "A is not aligned to 4 bytes");
}

TEST(CheckedCall, OperandsThatAreNotReadMayBeNull) {
  GemmCall call = valid();
  call.A = call.B = nullptr;
  call.alpha = 0;
  expect_valid(call);
  call.alpha = 1;
  call.problem.K = 0;
  expect_valid(call);
  call.problem.M = 0;
  call.C = nullptr;
  expect_valid(call);
}

TEST(CheckedCall, AnEpilogueNeedsItsOperands) {
  GemmCall call = valid();
  call.operands[0] = address(0x4001);  // not read
  expect_valid(call);
  for (const Epilogue epilogue : {kBiasColumn, kBiasColumnRelu}) {
    call.problem.epilogue = epilogue;
    call.operands[0] = nullptr;
    expect_refused(call, "bias_column is NULL");
    call.operands[0] = address(0x4002);
    expect_refused(call, "bias_column is not aligned to 4 bytes");
    call.operands[0] = address(0x4004);
    expect_valid(call);
    EXPECT_EQ(alignment_of(call), alignment_of(valid()));  // the bias lowers no alignment
  }
  call.problem.signature = signature_of(ElementType::bf16);
  call.operands[0] = address(0x4002);
  expect_valid(call);
  call.problem.M = 0;
  call.operands[0] = nullptr;
  expect_valid(call);
}

TEST(CheckedCall, TheEpilogueReachesTheKernelInEveryForm) {
  GemmCall call = valid_batch();
  EXPECT_EQ(form_of(call), CallForm(COperand::in_place));
  call.problem.epilogue = *find_epilogue("bias_row+relu");
  call.operands[0] = address(0x4004);
  EXPECT_EQ(form_of(call), CallForm(COperand::in_place, *find_epilogue("bias_row+relu")));
  // A bias for each row of a column-major D is one for each column of the row-major one.
  const GemmCall part = part_of(row_major(call, Order::column_major), 1, 2);
  EXPECT_EQ(part.problem.epilogue, kBiasColumnRelu);
  EXPECT_EQ(kernels_argument(part).operands[0], address(0x4004));
}

TEST(CheckedCall, AnEpilogueChangesDAlsoWhereNothingIsAdded) {
  GemmCall call = valid();
  call.beta = 1;
  call.alpha = 0;
  EXPECT_TRUE(changes_nothing(call));
  call.problem.epilogue = kBiasColumn;
  EXPECT_FALSE(changes_nothing(call));
  call.problem.M = 0;
  EXPECT_TRUE(changes_nothing(call));
}

TEST(CheckedCall, ChangesNothingByTheRulesOfBlas) {
  GemmCall call = valid();
  EXPECT_FALSE(changes_nothing(call));
  call.problem.K = 0;
  EXPECT_FALSE(changes_nothing(call));  // beta 0 clears C
  call.beta = 1;
  EXPECT_TRUE(changes_nothing(call));
  call.problem.K = 32;
  EXPECT_FALSE(changes_nothing(call));
  call.alpha = 0;
  EXPECT_TRUE(changes_nothing(call));
  call.alpha = 1;
  call.problem.N = 0;
  EXPECT_TRUE(changes_nothing(call));
  call = valid_batch();
  EXPECT_FALSE(changes_nothing(call));
  call.problem.batch = 0;
  EXPECT_TRUE(changes_nothing(call));
}

}  // namespace
}  // namespace gemm_tune
