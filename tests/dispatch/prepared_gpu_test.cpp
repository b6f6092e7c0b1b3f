// SPDX-License-Identifier: Apache-2.0
// Calls with operands that gt_prepare has prepared, on a GPU: the bits of calls without.
#include <gemm_tune/gemm_tune.h>

#include <cmath>
#include <cstring>
#include <gemm_tune/gemm_tune.hpp>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "core/types/signature.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/registry/registry.h"
#include "tests/dispatch/gemm_case.h"
#include "tests/dispatch/sample_gpu_test.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

std::vector<float> normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

class PreparedGpuTest : public SampleGpuTest {
 protected:
  void SetUp() override {
    SampleGpuTest::SetUp();
    if (handle_ != nullptr) stream_.emplace();
  }

  bool has_kernels() const { return sm_ == 90; }

  std::optional<Stream> stream_;
};

// A call of the class on random numbers.
struct SplitProduct {
  Case x;
  Operand A, B, D;
  DeviceBuffer<float> a, b, d;

  explicit SplitProduct(const Case& of)
      : x(of),
        A(x, x.M, x.K, x.trans_a),
        B(x, x.K, x.N, x.trans_b),
        D(x, x.M, x.N, GT_NO_TRANSPOSE),
        a(A.size(x.batch)),
        b(B.size(x.batch)),
        d(D.size(x.batch)) {
    a.copy_from_host(normal_numbers(a.size(), 1));
    b.copy_from_host(normal_numbers(b.size(), 2));
  }

  gt_gemm_call call() const {
    gt_gemm_call call = call_of(x, 1.5, 0);
    call.accuracy = GT_ACCURACY_FP32_F16X3;
    call.A = a.data() + A.offset;
    call.B = b.data() + B.offset;
    call.D = d.data() + D.offset;
    return call;
  }
  void forget() { d.fill_bytes(0xff); }
  std::vector<float> result() const {
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<float> all(d.size());
    d.copy_to_host(all);
    return all;
  }
};

bool are_same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

TEST_F(PreparedGpuTest, GivesTheBitsOfACallWithout) {
  if (!has_kernels()) GTEST_SKIP() << "no kernel of the class";
  for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
    for (const gt_transpose trans : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
      for (const std::int64_t batch : {1, 3}) {
        for (const bool fits : {true, false}) {
          SplitProduct product({133, 97, 2310, 3, 1, order, trans, trans, batch, 5});
          if (!fits) {
            const float infinity[] = {std::numeric_limits<float>::infinity()};
            product.b.copy_from_host(infinity, product.B.at(batch - 1, 7, 11));
          }
          gt_gemm_call call = product.call();
          const auto run = [&] {
            product.forget();
            EXPECT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
            return product.result();
          };
          const std::vector<float> without = run();
          gt_prepared *a = nullptr, *b = nullptr;
          for (const auto& [operand, prepared] :
               {std::pair{GT_OPERAND_A, &a}, std::pair{GT_OPERAND_B, &b}}) {
            ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, operand, prepared), GT_OK)
                << gt_last_error();
          }
          call.prepared_b = b;
          EXPECT_TRUE(are_same_bits(run(), without)) << "B prepared";
          EXPECT_TRUE(are_same_bits(run(), without)) << "B prepared, again";
          call.prepared_a = a;
          EXPECT_TRUE(are_same_bits(run(), without)) << "both prepared";
          call.prepared_b = nullptr;
          EXPECT_TRUE(are_same_bits(run(), without)) << "A prepared";
          gt_release(a);
          gt_release(b);
        }
      }
    }
  }
}

TEST_F(PreparedGpuTest, GivesTheBitsOfACallWithoutInThreePartsToo) {
  if (!has_kernels()) GTEST_SKIP() << "no kernel of the class";
  SplitProduct product({133, 97, 2310, 3, 1});
  gt_gemm_call call = product.call();
  call.accuracy = GT_ACCURACY_FP32_BF16X6;
  product.forget();
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  const std::vector<float> without = product.result();
  gt_prepared* prepared = nullptr;
  ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_OK)
      << gt_last_error();
  call.prepared_b = prepared;
  product.forget();
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  EXPECT_TRUE(are_same_bits(product.result(), without));
  gt_release(prepared);
}

TEST_F(PreparedGpuTest, ServesEveryMAndIsPreparedAnewForOtherValues) {
  if (!has_kernels()) GTEST_SKIP() << "no kernel of the class";
  SplitProduct large({600, 256, 512}), small({5, 256, 512});
  gt_gemm_call call = large.call();
  gt_prepared* prepared = nullptr;
  ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_OK);
  large.b.copy_from_host(normal_numbers(large.b.size(), 3));
  const gt_prepared* const before = prepared;
  ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_OK);
  EXPECT_EQ(prepared, before);
  call = small.call();
  call.B = large.b.data();
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  const std::vector<float> without = small.result();
  small.forget();
  call.prepared_b = prepared;
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  EXPECT_TRUE(are_same_bits(small.result(), without));
  call.N = 255;
  call.ldb = 256;
  EXPECT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_INVALID_ARGUMENT);
  EXPECT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared),
            GT_INVALID_ARGUMENT);
  EXPECT_THAT(gt_last_error(), HasSubstr("M or N = 256, and the call has 255"));
  gt_release(prepared);
}

TEST_F(PreparedGpuTest, AnOperandThatLosesNumbersServesAsEither) {
  if (!has_kernels()) GTEST_SKIP() << "no kernel of the class";
  SplitProduct as_a({133, 97, 310});
  const float infinity[] = {std::numeric_limits<float>::infinity()};
  as_a.a.copy_from_host(infinity, as_a.A.at(0, 7, 11));
  gt_gemm_call call = as_a.call();
  gt_prepared* prepared = nullptr;
  ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_A, &prepared), GT_OK)
      << gt_last_error();

  SplitProduct as_b({45, 133, 310, 0, 0, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_TRANSPOSE});
  call = as_b.call();
  call.B = as_a.a.data();
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  const std::vector<float> without = as_b.result();
  as_b.forget();
  call.prepared_b = prepared;
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  EXPECT_TRUE(are_same_bits(as_b.result(), without));
  EXPECT_TRUE(std::isfinite(without[as_b.D.at(0, 3, 8)]));
  EXPECT_FALSE(std::isfinite(without[as_b.D.at(0, 3, 7)]));
  gt_release(prepared);
}

TEST_F(PreparedGpuTest, MayBeCapturedWithItsCalls) {
  if (!has_kernels()) GTEST_SKIP() << "no kernel of the class";
  SplitProduct product({200, 256, 512});
  gt_gemm_call call = product.call();
  gt_prepared* prepared = nullptr;
  ASSERT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_OK);
  call.prepared_b = prepared;
  GT_CUDA(cudaStreamBeginCapture(stream_->get(), cudaStreamCaptureModeGlobal));
  EXPECT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_OK)
      << gt_last_error();
  EXPECT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK) << gt_last_error();
  cudaGraph_t graph = nullptr;
  GT_CUDA(cudaStreamEndCapture(stream_->get(), &graph));
  cudaGraphExec_t executable = nullptr;
  GT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  product.b.copy_from_host(normal_numbers(product.b.size(), 4));
  GT_CUDA(cudaGraphLaunch(executable, stream_->get()));
  const std::vector<float> replayed = product.result();
  product.forget();
  call.prepared_b = nullptr;
  ASSERT_EQ(gt_gemm(handle_, stream_->get(), &call), GT_OK);
  EXPECT_TRUE(are_same_bits(product.result(), replayed));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  gt_release(prepared);
}

TEST_F(PreparedGpuTest, IsRefusedWhereNoKernelTakesIt) {
  SplitProduct product({64, 64, 64});
  gt_gemm_call call = product.call();
  if (has_kernels()) call.accuracy = GT_ACCURACY_FP32;
  gt_prepared* prepared = nullptr;
  EXPECT_EQ(gt_prepare(handle_, stream_->get(), &call, GT_OPERAND_B, &prepared), GT_NO_KERNEL);
  EXPECT_THAT(gt_last_error(), HasSubstr("takes a prepared operand"));
  EXPECT_EQ(prepared, nullptr);
}

}  // namespace
}  // namespace gemm_tune
