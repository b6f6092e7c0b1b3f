// SPDX-License-Identifier: Apache-2.0
// The verifier must accept what is right and find every kind of wrong.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "gpu/cublas.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "gpu/stream.h"
#include "kernel_templates/source.h"
#include "tuner/verify.h"

namespace gemm_tune {
namespace {

class VerifyGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) {
      if (std::getenv("GT_REQUIRE_GPU") != nullptr) FAIL() << "no GPU, and one is required";
      GTEST_SKIP() << "no GPU";
    }
    set_device(0);
    arch_ = query_device(0).arch;
    stream_.emplace();
    verifier_.emplace(arch_, stream_->get(), 7);
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
    auto loaded = std::make_shared<LoadedKernel>(compiled.cubin);
    return [this, loaded, config](GemmArgs args, const Problem& problem) {
      void* pointers[] = {&args};
      loaded->launch(grid_of(config.recipe, problem, 1), config.recipe.block_threads,
                     config.recipe.smem_bytes, stream_->get(), pointers);
    };
  }

  Gemm cublas() {
    if (!cublas_) cublas_.emplace();
    cublas_->set_stream(stream_->get());
    return [this](const GemmArgs& a, const Problem& problem) {
      cublas_->gemm({problem.layout, a.M, a.N, a.K, a.alpha, a.A, a.lda, a.stride_a, a.B, a.ldb,
                     a.stride_b, a.beta, a.C, a.ldc, a.stride_c, problem.batch});
    };
  }

  // The problem's shape with gaps between rows and between matrices.
  static Shape with_gaps(const char* text) {
    Shape shape = shape_of(parse_problem(text));
    shape.lda += 5;
    shape.ldb += 9;
    shape.ldc += 3;
    shape.stride_a = matrices_a(shape).rows * shape.lda + 7;
    shape.stride_b = matrices_b(shape).rows * shape.ldb + 1;
    shape.stride_c = shape.M * shape.ldc + 11;
    return shape;
  }

  std::string arch_;
  std::optional<Stream> stream_;
  std::optional<Verifier> verifier_;
  std::optional<Cublas> cublas_;
};

constexpr const char* kTiled = "tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1";
constexpr Shape kRagged{67, 129, 35, 41, 133, 140};

TEST_F(VerifyGpuTest, AcceptsCublas) {
  EXPECT_EQ(verifier_->check(cublas(), kRagged), std::nullopt);
  EXPECT_EQ(verifier_->check(cublas(), {512, 256, 1024, 1024, 256, 256}), std::nullopt);
}

TEST_F(VerifyGpuTest, AcceptsCublasInEveryLayoutAndForBatches) {
  for (const char* text :
       {"67x129x35", "67x129x35:layout=nt", "67x129x35:layout=tn", "67x129x35:layout=tt",
        "67x129x35:batch=3", "67x129x35:layout=nt:batch=3", "67x129x35:layout=tn:batch=2",
        "67x129x35:layout=tt:batch=5"}) {
    EXPECT_EQ(verifier_->check(cublas(), with_gaps(text)), std::nullopt) << text;
  }
}

TEST_F(VerifyGpuTest, TellsTheLayoutsApart) {
  const Gemm library = cublas();
  const Gemm never_transposes = [&](const GemmArgs& args, Problem problem) {
    problem.layout = Layout::nn;
    library(args, problem);
  };
  // A square, so that no leading dimension gives the layout away.
  for (const char* text : {"64x64x64:layout=nt", "64x64x64:layout=tn", "64x64x64:layout=tt"}) {
    EXPECT_TRUE(verifier_->check(never_transposes, shape_of(parse_problem(text)))) << text;
  }
}

TEST_F(VerifyGpuTest, ChecksEveryEntryOfABatch) {
  const Gemm library = cublas();
  const Gemm all_but_the_last = [&](const GemmArgs& args, Problem problem) {
    problem.batch = 2;
    library(args, problem);
  };
  const auto wrong = verifier_->check(all_but_the_last, with_gaps("8x16x4:batch=3"));
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("128 of 384 elements are wrong"), std::string::npos) << *wrong;
  EXPECT_NE(wrong->find("the first at entry 2 of the batch, row 0, column 0"), std::string::npos)
      << *wrong;
}

TEST_F(VerifyGpuTest, FindsWritesBetweenTheMatricesOfABatch) {
  const Gemm right = kernel(kTiled);
  const Gemm stray = [&](const GemmArgs& args, const Problem& problem) {
    right(args, problem);
    GT_CUDA(cudaMemsetAsync(args.C + args.stride_c - 1, 0, sizeof(float), stream_->get()));
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
  const Gemm unsteady = [&](GemmArgs args, const Problem& problem) {
    if (run++ % 2 == 1) args.alpha += 1e-6f;
    right(args, problem);
  };
  const auto wrong = verifier_->check_repeats(unsteady, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("two runs on the same operands differ"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, AcceptsARightKernelAndAnEmptyReduction) {
  EXPECT_EQ(verifier_->check(kernel(kTiled), kRagged), std::nullopt);
  EXPECT_EQ(verifier_->check(kernel(kTiled), {67, 129, 0, 1, 129, 129}), std::nullopt);
}

TEST_F(VerifyGpuTest, FindsAWrongFactor) {
  const auto wrong = verifier_->check(kernel(kTiled, "args.alpha * sum", "1.001f * sum"), kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("elements are wrong"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsUnwrittenElements) {
  const Gemm nothing = [](const GemmArgs&, const Problem&) {};
  const auto wrong = verifier_->check(nothing, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("8643 of 8643 elements are wrong"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsWritesPastTheRow) {
  const Gemm right = kernel(kTiled);
  const Gemm stray = [&](const GemmArgs& args, const Problem& problem) {
    right(args, problem);
    // One cell in the gap after the first row.
    GT_CUDA(cudaMemsetAsync(args.C + args.N, 0, sizeof(float), stream_->get()));
  };
  const auto wrong = verifier_->check(stray, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("1 cells outside C were written"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsAKernelThatReadsCWhenBetaIsZero) {
  const Gemm right = kernel(kTiled);
  const Gemm reader = [&](GemmArgs args, const Problem& problem) {
    if (args.beta == 0.0f) args.beta = 1e-30f;  // reads the poison
    right(args, problem);
  };
  EXPECT_TRUE(verifier_->check(reader, kRagged));
}

}  // namespace
}  // namespace gemm_tune
