// SPDX-License-Identifier: Apache-2.0
// The problem of a call, as Python's captures write it.
#include "python/binding/problem_text.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "dispatch/c_values.h"

namespace gemm_tune {
namespace {

gt_gemm_call packed_call() {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = 4;
  call.N = 8;
  call.K = 16;
  call.batch = 1;
  call.lda = 16;
  call.ldb = call.ldc = 8;
  return call;
}

TEST(ProblemText, HasTheTypesLayoutAndOrderOfTheCall) {
  gt_gemm_call call = packed_call();
  EXPECT_EQ(problem_text(call), "4x8x16");
  call.type_a = call.type_b = call.type_c = call.type_d = GT_BF16;
  EXPECT_EQ(problem_text(call), "4x8x16:type=bf16");
  call = packed_call();
  call.order = GT_COLUMN_MAJOR;
  call.trans_a = GT_TRANSPOSE;
  call.ldb = 16;
  call.ldc = 4;
  EXPECT_EQ(problem_text(call), "8x4x16:layout=nt");
}

TEST(ProblemText, RefusesAnUnknownTypeTranspositionOrOrder) {
  const auto refusal = [](const auto& change) {
    gt_gemm_call call = packed_call();
    change(call);
    try {
      return problem_text(call);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal([](gt_gemm_call& call) { call.type_a = static_cast<gt_type>(7); }),
            "call.type_a is 7: it must be a gt_type");
  EXPECT_EQ(refusal([](gt_gemm_call& call) { call.trans_b = static_cast<gt_transpose>(2); }),
            "call.trans_b is 2: it must be GT_NO_TRANSPOSE or GT_TRANSPOSE");
  EXPECT_EQ(refusal([](gt_gemm_call& call) { call.order = static_cast<gt_order>(2); }),
            "call.order is 2: it must be GT_ROW_MAJOR or GT_COLUMN_MAJOR");
}

TEST(ProblemText, ACallOfATextHasItsProblem) {
  for (const char* text :
       {"1024x1000x512", "63x65x67:align=16", "63x65x67", "4x8x16:type=bf16:layout=nt:batch=3",
        "64x64x64:type=f16/f16/f32/f32:layout=tt", "1024x1024x1024:align=4/16/16/16",
        "100x200x300:align=16/8/4/4:batch=7", "64x64x0", "64x64x64:batch=9:pointers",
        "100x200x300:type=bf16:align=16/8/4/4:batch=7:pointers"}) {
    EXPECT_EQ(problem_text(call_of(text)), text);
  }
  EXPECT_EQ(
      row_major_call(call_of("64x64x64:align=16/16/8/4"), Addresses::optional).problem.alignment,
      (Alignment{16, 16, 8, 4}));
}

}  // namespace
}  // namespace gemm_tune
