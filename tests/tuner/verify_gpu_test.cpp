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
    const CompileResult compiled =
        nvrtc_compile({source.path, source.text, source.headers},
                      {"TUNED_PARAMS=" + tuned_params(config.config())}, arch_);
    EXPECT_TRUE(compiled.ok) << compiled.log;
    auto loaded = std::make_shared<LoadedKernel>(compiled.cubin);
    return [this, loaded, config](GemmArgs args) {
      void* pointers[] = {&args};
      loaded->launch(grid_ctas(config.recipe, packed_problem(args.M, args.N, args.K)),
                     config.recipe.block_threads, config.recipe.smem_bytes, stream_->get(),
                     pointers);
    };
  }

  std::string arch_;
  std::optional<Stream> stream_;
  std::optional<Verifier> verifier_;
};

constexpr const char* kTiled = "tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1";
constexpr Shape kRagged{67, 129, 35, 41, 133, 140};

TEST_F(VerifyGpuTest, AcceptsCublas) {
  Cublas cublas;
  cublas.set_stream(stream_->get());
  const Gemm gemm = [&](const GemmArgs& a) {
    cublas.sgemm(a.M, a.N, a.K, a.alpha, a.A, a.lda, a.B, a.ldb, a.beta, a.C, a.ldc);
  };
  EXPECT_EQ(verifier_->check(gemm, kRagged), std::nullopt);
  EXPECT_EQ(verifier_->check(gemm, {512, 256, 1024, 1024, 256, 256}), std::nullopt);
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
  const Gemm nothing = [](const GemmArgs&) {};
  const auto wrong = verifier_->check(nothing, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("8643 of 8643 elements are wrong"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsWritesPastTheRow) {
  const Gemm right = kernel(kTiled);
  const Gemm stray = [&](const GemmArgs& args) {
    right(args);
    // One cell in the gap after the first row.
    GT_CUDA(cudaMemsetAsync(args.C + args.N, 0, sizeof(float), stream_->get()));
  };
  const auto wrong = verifier_->check(stray, kRagged);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("1 cells outside C were written"), std::string::npos) << *wrong;
}

TEST_F(VerifyGpuTest, FindsAKernelThatReadsCWhenBetaIsZero) {
  const Gemm right = kernel(kTiled);
  const Gemm reader = [&](GemmArgs args) {
    if (args.beta == 0.0f) args.beta = 1e-30f;  // reads the poison
    right(args);
  };
  EXPECT_TRUE(verifier_->check(reader, kRagged));
}

}  // namespace
}  // namespace gemm_tune
