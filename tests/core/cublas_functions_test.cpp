// SPDX-License-Identifier: Apache-2.0
#include "core/problem/cublas_functions.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

TEST(CublasFunctionsTest, AFunctionIsFoundByItsNameAndBaselinesOfOtherNamesAreNone) {
  EXPECT_EQ(cublas_function_named("cublasSgemm"), CublasFunction::cublasSgemm);
  EXPECT_EQ(cublas_function_named("cublasLtMatmul"), CublasFunction::cublasLtMatmul);
  EXPECT_STREQ(info_of(CublasFunction::cublasGemmBatchedEx).name, "cublasGemmBatchedEx");
  for (const char* const other : {"cublasSgemm_v2", "cublasSgemm-autotuned", "cublasLt", ""}) {
    EXPECT_FALSE(cublas_function_named(other)) << other;
  }
}

TEST(CublasFunctionsTest, TheDocumentationNamesEveryFunctionThatTheDropInTakesOver) {
  const std::string page = read_file(GT_DROP_IN_PAGE);
  const auto expect_named = [&](const std::string& name) {
    EXPECT_NE(page.find("`" + name + "`"), page.npos) << name;
  };
#define GT_ROW(name, suffix, Scalar, type, batch, computing) expect_named(#name);
  GT_CUBLAS_PLAIN_FUNCTIONS(GT_ROW)
  GT_CUBLAS_GROUPED_FUNCTIONS(GT_ROW)
#undef GT_ROW
  expect_named("cublasLtMatmul");
}

}  // namespace
}  // namespace gemm_tune
