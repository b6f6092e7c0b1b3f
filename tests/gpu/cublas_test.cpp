// SPDX-License-Identifier: Apache-2.0
// The part of gpu/cuda_libraries/cublas.h that needs neither cuBLAS nor a GPU.
#include "gpu/cuda_libraries/cublas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas_types.h"

namespace gemm_tune {
namespace {

Problem problem_of(const Signature& types, std::int64_t batch) {
  return packed_problem(4, 4, 4, Layout::nn, batch, types);
}

TEST(CublasTest, NamesTheFunctionThatACallGoesThrough) {
  EXPECT_STREQ(Cublas::function_name(problem_of(Signature(), 1)), "cublasSgemm");
  EXPECT_STREQ(Cublas::function_name(problem_of(Signature(), 2)), "cublasSgemmStridedBatched");
  const Problem pointers = parse_problem("4x4x4:pointers");
  EXPECT_STREQ(Cublas::function_name(pointers), "cublasSgemmBatched");
  EXPECT_STREQ(Cublas::autotuned_name(pointers), "cublasGemmBatchedEx");
  EXPECT_STREQ(Cublas::function_name(parse_problem("4x4x4:pointers:type=bf16")),
               "cublasGemmBatchedEx");
  const Signature f64 = signature_of(ElementType::f64);
  EXPECT_STREQ(Cublas::function_name(problem_of(f64, 1)), "cublasDgemm");
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    for (const Signature& types : {signature_of(type), signature_of(type, ElementType::f32)}) {
      EXPECT_STREQ(Cublas::function_name(problem_of(types, 1)), "cublasGemmEx");
      EXPECT_STREQ(Cublas::function_name(problem_of(types, 2)), "cublasGemmStridedBatchedEx");
    }
  }
}

TEST(CublasTest, ComputesInTf32WhereTheClassIsTf32AndInFp32Otherwise) {
  const auto of = [](Accuracy accuracy) {
    Signature types;
    types.accuracy = accuracy;
    return types;
  };
  // CUBLAS_COMPUTE_32F_FAST_TF32 and CUBLAS_COMPUTE_32F of cublas_api.h.
  EXPECT_EQ(cublas_abi::compute_type(of(Accuracy::tf32)), 77);
  EXPECT_EQ(cublas_abi::compute_type(of(Accuracy::fp32)), 68);
  EXPECT_EQ(cublas_abi::compute_type(of(Accuracy::fp32_f16x3)), 68);
  EXPECT_EQ(cublas_abi::compute_type(signature_of(ElementType::bf16)), 68);
  // cublasSgemm has no argument for it.
  EXPECT_STREQ(Cublas::function_name(problem_of(of(Accuracy::tf32), 1)), "cublasGemmEx");
  EXPECT_STREQ(Cublas::function_name(problem_of(of(Accuracy::fp32_f16x3), 1)), "cublasSgemm");
}

TEST(CublasTest, MultipliesForSumsInFp16WithSumsInFp32) {
  for (const ElementType d : {ElementType::f16, ElementType::f32}) {
    Signature types = signature_of(ElementType::f16, d);
    types.accuracy = Accuracy::sums_fp16;
    EXPECT_EQ(cublas_abi::compute_type(types), 68);
    EXPECT_STREQ(Cublas::function_name(problem_of(types, 1)), "cublasGemmEx");
    EXPECT_STREQ(Cublas::function_name(problem_of(types, 2)), "cublasGemmStridedBatchedEx");
  }
}

TEST(CublasTest, RefusesTypesThatCublasDoesNotMultiplyAndNamesThem) {
  const auto refusal = [](const Signature& types) {
    try {
      Cublas::function_name(problem_of(types, 1));
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(signature_of(ElementType::f16, ElementType::bf16)),
            "no cuBLAS function for f16/f16/bf16/bf16");
  EXPECT_EQ(refusal(signature_of(ElementType::f32, ElementType::f16)),
            "no cuBLAS function for f32/f32/f16/f16");
  Signature two = signature_of(ElementType::f16, ElementType::f32);
  two.b = ElementType::bf16;
  EXPECT_EQ(refusal(two), "no cuBLAS function for f16/bf16/f32/f32");
  two = signature_of(ElementType::f16);
  two.c = ElementType::f32;
  EXPECT_EQ(refusal(two), "no cuBLAS function for f16/f16/f32/f16");
}

}  // namespace
}  // namespace gemm_tune
