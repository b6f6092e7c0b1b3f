// SPDX-License-Identifier: Apache-2.0
// The verifier must accept correct results and find every kind of error.
#include <optional>
#include <vector>

#include "gpu/compile/nvrtc.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/source/source.h"
#include "runtime/prepared_call.h"
#include "tests/gpu/gpu_test.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

class VerifyGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    set_device(0);
    const DeviceSpec device = query_device(0);
    arch_ = device.arch;
    stream_.emplace();
    verifier_.emplace(device, stream_->get(), 7);
  }

  // A kernel of one of our families with `wrong` put in place of `right` in its text.
  Gemm kernel(const char* config_text, const std::string& right = "",
              const std::string& wrong = "") {
    const KnownConfig config = check_config(parse_config(config_text));
    KernelSource source = kernel_source(*config.family);
    if (!right.empty()) {
      int replaced = 0;
      for (auto& [path, text] : source.headers) {
        for (auto at = text.find(right); at != text.npos;
             at = text.find(right, at + wrong.size())) {
          text.replace(at, right.size(), wrong);
          ++replaced;
        }
      }
      EXPECT_GT(replaced, 0) << right;
    }
    const CompileResult compiled = nvrtc_compile({source.path, source.text, source.headers},
                                                 compile_definitions(config), arch_);
    EXPECT_TRUE(compiled.ok) << compiled.log;
    auto loaded = std::make_shared<LoadedKernels>(compiled.cubin);
    return [this, loaded, config](const GemmCall& call) {
      PreparedCall(*loaded, config.plan(call.problem, 1)).launch(call, nullptr, stream_->get());
    };
  }

  Gemm cublas() {
    if (!cublas_) cublas_.emplace();
    cublas_->set_stream(stream_->get());
    return [this](const GemmCall& call) { cublas_->gemm(call); };
  }

  // The problem's shape with gaps between rows and between matrices.
  static GemmCall with_gaps(const char* text, const Signature& types = Signature()) {
    GemmCall shape = shape_of(parse_problem(text, {.signature = types}));
    shape.lda += 5;
    shape.ldb += 9;
    shape.ldc += 3;
    shape.stride_a = matrices_a(shape).rows * shape.lda + 7;
    shape.stride_b = matrices_b(shape).rows * shape.ldb + 1;
    shape.stride_c = shape.problem.M * shape.ldc + 11;
    return shape;
  }

  std::string arch_;
  std::optional<Stream> stream_;
  std::optional<Verifier> verifier_;
  std::optional<Cublas> cublas_;
};

constexpr const char* kTiled = "tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1";

GemmCall shape(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t lda, std::int64_t ldb,
               std::int64_t ldc) {
  GemmCall call;
  call.problem = packed_problem(M, N, K);
  call.lda = lda;
  call.ldb = ldb;
  call.ldc = ldc;
  return call;
}

const GemmCall kRagged = shape(67, 129, 35, 41, 133, 140);

TEST_F(VerifyGpuTest, AcceptsCublas) {
  EXPECT_EQ(verifier_->check(cublas(), kRagged), std::nullopt);
  EXPECT_EQ(verifier_->check(cublas(), shape(512, 256, 1024, 1024, 256, 256)), std::nullopt);
}

TEST_F(VerifyGpuTest, TheErrorOfAnFp32ProductIsSmallAndTheSameEachTime) {
  const GemmCall deep = shape(512, 256, 1024, 1024, 256, 256);
  for (const Gemm& gemm : {cublas(), kernel(kTiled)}) {
    const std::optional<double> error = verifier_->relative_error(gemm, deep);
    ASSERT_TRUE(error.has_value());
    EXPECT_GT(*error, 1e-8);
    EXPECT_LT(*error, 3e-6);
    EXPECT_EQ(verifier_->relative_error(gemm, deep), error);
  }
  const Gemm nothing = [](const GemmCall&) {};
  EXPECT_EQ(verifier_->relative_error(nothing, deep), std::nullopt) << "D is NaN";
}

TEST_F(VerifyGpuTest, TheErrorOfAProductIsTheSameInRunsWithOtherSeeds) {
  const GemmCall small = shape(64, 64, 256, 256, 64, 64);
  Verifier other(query_device(0), stream_->get(), 8);
  for (const Gemm& gemm : {cublas(), kernel(kTiled)}) {
    EXPECT_EQ(other.relative_error(gemm, small), verifier_->relative_error(gemm, small));
    EXPECT_EQ(other.check(gemm, small), std::nullopt);
  }
}

TEST_F(VerifyGpuTest, AcceptsCublasInEveryLayoutAndForBatches) {
  for (const char* text :
       {"67x129x35", "67x129x35:layout=nt", "67x129x35:layout=tn", "67x129x35:layout=tt",
        "67x129x35:batch=3", "67x129x35:layout=nt:batch=3", "67x129x35:layout=tn:batch=2",
        "67x129x35:layout=tt:batch=5"}) {
    EXPECT_EQ(verifier_->check(cublas(), with_gaps(text)), std::nullopt) << text;
  }
}

// bf16 needs sm_80 in cuBLAS too.
std::vector<Signature> mixed_signatures() {
  std::vector<Signature> all;
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    if (type == ElementType::bf16 && query_device(0).cc_major < 8) continue;
    all.push_back(signature_of(type));
    all.push_back(signature_of(type, ElementType::f32));
  }
  return all;
}

TEST_F(VerifyGpuTest, AcceptsCublasOf16BitOperands) {
  for (const Signature& types : mixed_signatures()) {
    for (const char* text :
         {"67x129x35", "67x129x35:layout=nt", "67x129x35:layout=tn", "67x129x35:layout=tt",
          "67x129x35:batch=3", "512x256x1024", "64x64x65536"}) {
      EXPECT_EQ(verifier_->check(cublas(), with_gaps(text, types)), std::nullopt)
          << text << " " << to_string(types);
    }
    EXPECT_EQ(verifier_->check_repeats(cublas(), with_gaps("67x129x35", types)), std::nullopt);
  }
}

TEST_F(VerifyGpuTest, FindsWrongResultsOf16BitOperands) {
  const Gemm library = cublas();
  const Gemm nothing = [](const GemmCall&) {};
  const Gemm scaled = [&](GemmCall call) {
    call.alpha *= 1.02;
    library(call);
  };
  const Gemm stray = [&](const GemmCall& call) {
    library(call);
    const auto bytes = static_cast<std::size_t>(bytes_of(call.problem.signature.d));
    char* const gap = static_cast<char*>(call.D) + static_cast<std::size_t>(call.problem.N) * bytes;
    GT_CUDA(cudaMemsetAsync(gap, 0, bytes, stream_->get()));
  };
  for (const Signature& types : mixed_signatures()) {
    const GemmCall shape = with_gaps("67x129x35", types);
    const auto contains = [&](const Gemm& gemm, const char* part) {
      const auto wrong = verifier_->check(gemm, shape);
      ASSERT_TRUE(wrong) << to_string(types);
      EXPECT_NE(wrong->find(part), std::string::npos) << *wrong;
    };
    contains(nothing, "8643 of 8643 elements are wrong");
    contains(scaled, "elements are wrong");
    contains(stray, "1 cells outside C were written");
  }
}

TEST_F(VerifyGpuTest, TellsTheLayoutsApart) {
  const Gemm library = cublas();
  const Gemm never_transposes = [&](GemmCall call) {
    call.problem.layout = Layout::nn;
    library(call);
  };
  // A square, so that no leading dimension gives the layout away.
  for (const char* text : {"64x64x64:layout=nt", "64x64x64:layout=tn", "64x64x64:layout=tt"}) {
    EXPECT_TRUE(verifier_->check(never_transposes, shape_of(parse_problem(text)))) << text;
  }
}

TEST_F(VerifyGpuTest, ChecksEveryEntryOfABatch) {
  const Gemm library = cublas();
  const Gemm all_but_the_last = [&](GemmCall call) {
    call.problem.batch = 2;
    library(call);
  };
  const auto wrong = verifier_->check(all_but_the_last, with_gaps("8x16x4:batch=3"));
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("128 of 384 elements are wrong"), std::string::npos) << *wrong;
  EXPECT_NE(wrong->find("the first at entry 2 of the batch, row 0, column 0"), std::string::npos)
      << *wrong;
}

TEST_F(VerifyGpuTest, FindsWritesBetweenTheMatricesOfABatch) {
  const Gemm right = kernel(kTiled);
  const Gemm stray = [&](const GemmCall& call) {
    right(call);
    auto* const after = static_cast<float*>(call.D) + call.stride_c;
    GT_CUDA(cudaMemsetAsync(after - 1, 0, sizeof(float), stream_->get()));
  };
  const auto wrong = verifier_->check(stray, with_gaps("67x129x35:batch=2"));
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("1 cells outside C were written"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, AcceptsABatchOfARightKernel) {
  EXPECT_EQ(verifier_->check(kernel(kTiled), with_gaps("67x129x35:batch=3")), std::nullopt);
}

TEST_F(VerifyGpuTest, FindsResultsThatDoNotRepeat) {
  const Gemm right = kernel(kTiled);
  EXPECT_EQ(verifier_->check_repeats(right, kRagged), std::nullopt);
  int run = 0;
  const Gemm unsteady = [&](GemmCall call) {
    if (run++ % 2 == 1) call.alpha += 1e-6;
    right(call);
  };
  const auto wrong = verifier_->check_repeats(unsteady, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("two runs on the same operands differ"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, AcceptsARightKernelAndAnEmptyReduction) {
  EXPECT_EQ(verifier_->check(kernel(kTiled), kRagged), std::nullopt);
  EXPECT_EQ(verifier_->check(kernel(kTiled), shape(67, 129, 0, 1, 129, 129)), std::nullopt);
}

TEST_F(VerifyGpuTest, FindsAWrongFactor) {
  const auto wrong = verifier_->check(kernel(kTiled, "args.alpha * sum", "1.001f * sum"), kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("elements are wrong"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsUnwrittenElements) {
  const Gemm nothing = [](const GemmCall&) {};
  const auto wrong = verifier_->check(nothing, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("8643 of 8643 elements are wrong"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsWritesPastTheRow) {
  const Gemm right = kernel(kTiled);
  const Gemm stray = [&](const GemmCall& call) {
    right(call);
    // One cell in the gap after the first row.
    auto* const gap = static_cast<float*>(call.D) + call.problem.N;
    GT_CUDA(cudaMemsetAsync(gap, 0, sizeof(float), stream_->get()));
  };
  const auto wrong = verifier_->check(stray, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("1 cells outside C were written"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsAKernelThatReadsCWhenBetaIsZero) {
  const Gemm right = kernel(kTiled);
  const Gemm reader = [&](GemmCall call) {
    if (call.beta == 0) call.beta = 1e-30;  // reads the poison
    right(call);
  };
  EXPECT_TRUE(verifier_->check(reader, kRagged));
}

}  // namespace
}  // namespace gemm_tune
