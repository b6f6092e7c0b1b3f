// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace gemm_tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "function problem xcalls" of each.
std::vector<std::string> calls_of(const std::string& log) {
  std::vector<std::string> calls;
  for (const CalledProblem& called : parse_call_log(log, "a.log").problems) {
    calls.push_back(called.function + " " + called.text + " x" + std::to_string(called.tunable));
  }
  return calls;
}

// As cuBLAS 13.1.0 writes it.
constexpr const char* kSgemm =
    R"(I! cuBLAS (v13.1.0) function cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int) called:
i!  handle: type=cublasHandle_t; val=POINTER (IN HEX:0x(nil))
i!  transa: type=cublasOperation_t; val=CUBLAS_OP_N(0)
i!  transb: type=cublasOperation_t; val=CUBLAS_OP_T(1)
i!  m: type=int; val=12
i!  n: type=int; val=20
i!  k: type=int; val=32
i!  alpha: type=float; val=POINTER (IN HEX:0x0x7fff3fb00474)
i!  lda: type=int; val=11
i! Time: 2026-11-22T23:42:30 elapsed from start 0.000000 minutes or 0.000000 seconds
i!Process=540; Thread=139901221789696; GPU=0; Handle=POINTER (IN HEX:0x(nil))
)";
constexpr const char* kBatched =
    R"(I! cuBLAS (v13.1.0) function cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t) called:
i!  transa: type=cublasOperation_t; val=CUBLAS_OP_T(1)
i!  transb: type=cublasOperation_t; val=CUBLAS_OP_N(0)
i!  m: type=int64_t; val=16
i!  n: type=int64_t; val=24
i!  k: type=int64_t; val=32
i!  Atype: type=cudaDataType_t; val=CUDA_R_16BF(14)
i!  Btype: type=cudaDataType_t; val=CUDA_R_16BF(14)
i!  Ctype: type=cudaDataType_t; val=CUDA_R_32F(0)
i!  batchCount: type=int64_t; val=7
i!  computeType: type=cublasComputeType_t; val=CUBLAS_COMPUTE_32F(68)
)";

TEST(CallLogTest, ReadsTheLogOfCublas) {
  const std::string sgemm = kSgemm, batched = kBatched;
  EXPECT_THAT(calls_of(sgemm + batched + sgemm),
              ElementsAre("cublasGemmStridedBatchedEx "
                          "24x16x32:type=bf16/bf16/f32/f32:layout=nt:batch=7 x1",
                          "cublasSgemm 20x12x32:layout=tn x2"));
}

TEST(CallLogTest, LeavesOutOtherFunctionsTypesAndComputeTypes) {
  const auto changed = [](std::string log, const std::string& from, const std::string& to) {
    log.replace(log.find(from), from.size(), to);
    return log;
  };
  const std::string sgemm = kSgemm, batched = kBatched;
  for (const std::string& other :
       {changed(sgemm, "cublasSgemm_v2", "cublasDgemm_v2"),
        changed(sgemm, "cublasSgemm_v2", "cublasSgemmBatched"), changed(sgemm, "val=12", "val=0"),
        changed(batched, "COMPUTE_32F(68)", "COMPUTE_32F_FAST_TF32(77)"),
        changed(batched, "CUDA_R_16BF(14)", "CUDA_R_8I(3)")}) {
    EXPECT_THAT(calls_of(other + sgemm), ElementsAre("cublasSgemm 20x12x32:layout=tn x1"));
  }
}

TEST(CallLogTest, ReadsPyTorchsListOfUntunedOperations) {
  EXPECT_THAT(calls_of("GemmAndBiasTunableOp_Half_TN,tn_768_1024_640_ld_768_768_768\n"
                       "GemmStridedBatchedTunableOp_float_NN,nn_64_128_256_B_96_ld_64_128_64\n"
                       "GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088\n"
                       "GemmTunableOp_double_NT,nt_8_8_8_ld_8_8_8\n"
                       "ScaledGemmTunableOp_Float8_e4m3fn_TN,tn_8_8_8_ld_8_8_8\n"),
              ElementsAre("GemmAndBiasTunableOp 1024x768x640:type=f16:layout=nt x1",
                          "GemmStridedBatchedTunableOp 128x64x256:batch=96 x1",
                          "GemmTunableOp 4096x25088x64:layout=tn x1"));
}

TEST(CallLogTest, ATextWithoutAProductIsRefusedByName) {
  for (const char* const text : {"", "words\n", "GemmTunableOp_float_NT\n", "I! \ni!  m: val=3\n",
                                 "GemmTunableOp_float_NT,nt_9999999999999999999_1_1\n"}) {
    try {
      parse_call_log(text, "a.log");
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("'a.log' has no product that could be served"));
    }
  }
}

}  // namespace
}  // namespace gemm_tune
