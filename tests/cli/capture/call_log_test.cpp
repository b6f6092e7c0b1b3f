// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/call_log.h"

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

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

TEST(CallLogTest, ReadsABatchOfPointersAsOne) {
  std::string log = kBatched;
  log.replace(log.find("Strided"), 7, "");
  EXPECT_THAT(calls_of(log),
              ElementsAre("cublasGemmBatchedEx "
                          "24x16x32:type=bf16/bf16/f32/f32:layout=nt:batch=7:pointers x1"));
}

TEST(CallLogTest, LeavesOutOtherFunctionsTypesAndComputeTypes) {
  const auto changed = [](std::string log, const std::string& from, const std::string& to) {
    log.replace(log.find(from), from.size(), to);
    return log;
  };
  const std::string sgemm = kSgemm, batched = kBatched;
  for (const std::string& other : {changed(sgemm, "cublasSgemm_v2", "cublasDgemm_v2"),
                                   changed(sgemm, "cublasSgemm_v2", "cublasSgemmGroupedBatched"),
                                   changed(sgemm, "val=12", "val=0"),
                                   changed(batched, "COMPUTE_32F(68)", "COMPUTE_32F_FAST_TF32(77)"),
                                   changed(batched, "CUDA_R_16BF(14)", "CUDA_R_8I(3)")}) {
    EXPECT_THAT(calls_of(other + sgemm), ElementsAre("cublasSgemm 20x12x32:layout=tn x1"));
  }
}

std::map<std::string, std::int64_t> left_out_of(const std::string& log) {
  return parse_call_log(log, "a.log").left_out;
}

TEST(CallLogTest, CountsWhatItLeavesOutByItsKind) {
  const auto changed = [](std::string log, const std::string& from, const std::string& to) {
    log.replace(log.find(from), from.size(), to);
    return log;
  };
  const std::string sgemm = kSgemm, batched = kBatched;
  const std::string dgemm = changed(sgemm, "cublasSgemm_v2", "cublasDgemm_v2");
  EXPECT_THAT(
      left_out_of(sgemm + dgemm + dgemm + changed(sgemm, "cublasSgemm_v2", "cublasCreate") +
                  changed(sgemm, "val=12", "val=0") +
                  changed(batched, "COMPUTE_32F(68)", "COMPUTE_32F_FAST_TF32(77)") +
                  changed(batched, "CUDA_R_16BF(14)", "CUDA_R_8I(3)")),
      ElementsAre(testing::Pair("cublasDgemm", 2),
                  testing::Pair("cublasGemmStridedBatchedEx of CUDA_R_8I, CUDA_R_16BF and "
                                "CUDA_R_32F",
                                1),
                  testing::Pair("cublasGemmStridedBatchedEx with CUBLAS_COMPUTE_32F_FAST_TF32", 1),
                  testing::Pair("cublasSgemm with m=0 n=20 k=32 and a batch of 1", 1)));
  EXPECT_THAT(left_out_of("GemmTunableOp_float_NT,nt_8_8_8\nGemmTunableOp_double_NT,nt_8_8_8\n"
                          "ScaledGemmTunableOp_Float8_e4m3fn_TN,tn_8_8_8_ld_8_8_8\n"),
              ElementsAre(testing::Pair("GemmTunableOp_double_NT", 1),
                          testing::Pair("ScaledGemmTunableOp_Float8_e4m3fn_TN", 1)));
  EXPECT_EQ(left_out_text({{"cublasDgemm", 12}, {"cublasSsymm", 1}}),
            "13 calls that gemm-tune has no kernels for: 12 of cublasDgemm, 1 of cublasSsymm");
}

// As cublasLt writes it with CUBLASLT_LOG_LEVEL=2.
TEST(CallLogTest, ReadsTheLogOfCublasLt) {
  const std::string line =
      "[2023-04-07 04:57:13][cublasLt][8291][Trace][cublasLtMatmul] A=0X7F8EB6002300 "
      "Adesc=[type=R_16F rows=32 cols=16 ld=32] B=0X7F8EB6001B00 Bdesc=[type=R_16F rows=16 cols=64 "
      "ld=16] C=0X0 Cdesc=[type=R_16F rows=32 cols=64 ld=32] D=0X7F8EB6003200 Ddesc=[type=R_16F "
      "rows=32 cols=64 ld=32] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F] "
      "algo=[algoId=21 tile=MATMUL_TILE_32x32 stages=MATMUL_STAGES_64x1] workSpace=0X0 "
      "workSpaceSizeInBytes=0 beta=? outOfPlace=0 stream=0X7EB04D0\n";
  const auto changed = [&](std::string from, const std::string& to) {
    std::string other = line;
    for (std::size_t at = 0; (at = other.find(from, at)) != other.npos; at += to.size()) {
      other.replace(at, from.size(), to);
    }
    return other;
  };
  const std::string log =
      line + changed("scaleType=R_32F]", "scaleType=R_32F transb=OP_T epilogue=EPILOGUE_BIAS]") +
      changed("R_16F", "R_8F_E4M3") + changed("COMPUTE_32F ", "COMPUTE_32F_FAST_TF32 ") +
      changed("scaleType=R_32F]", "scaleType=R_32F epilogue=EPILOGUE_GELU]") +
      "[2023-04-07 04:57:13][cublasLt][8291][Api][cublasLtCreate] lightHandle=0X7FFDB5ABD8F8\n";
  EXPECT_THAT(calls_of(log), ElementsAre("cublasLtMatmul 64x32x16:type=f16 x1",
                                         "cublasLtMatmul 64x32x16:type=f16:layout=tn x1"));
  EXPECT_THAT(left_out_of(log),
              ElementsAre(testing::Pair("cublasLtMatmul of R_8F_E4M3, R_8F_E4M3 and R_8F_E4M3", 1),
                          testing::Pair("cublasLtMatmul with COMPUTE_32F_FAST_TF32", 1),
                          testing::Pair("cublasLtMatmul with EPILOGUE_GELU", 1)));
}

// With the winner and its time behind each, and with lines of another system.
TEST(CallLogTest, ReadsPyTorchsListOfResults) {
  EXPECT_THAT(
      calls_of("Validator,PT_VERSION,2.5.0\r\n"
               "GemmTunableOp_BFloat16_TN,tn_8192_2_1024,Gemm_Hipblaslt_TN_61169,0.017\r\n"),
      ElementsAre("GemmTunableOp 2x8192x1024:type=bf16:layout=nt x1"));
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
