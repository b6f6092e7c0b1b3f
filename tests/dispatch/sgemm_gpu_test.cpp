// SPDX-License-Identifier: Apache-2.0
// gt_sgemm on a GPU, against sums of small integers, which are exact in any order.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gemm_tune/gemm_tune.hpp>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/dispatcher.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/dispatch/gemm_case.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/sample_database.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

class SgemmGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    write_sample_database(directory_ / "winners.db", query_device(0).arch);
    open();
  }
  void TearDown() override { gt_close(handle_); }
  void open() {
    ASSERT_EQ(open_kernels((directory_ / "winners.db").c_str(), (directory_ / "kernels").c_str(),
                           &handle_),
              GT_OK)
        << gt_last_error();
  }
  std::size_t cached_kernels() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_ / "kernels"), {}));
  }

  // Runs the case with NaN around and between C's elements and, where beta is 0, in them; compares
  // every cell.
  void expect_exact(const Case& x, float alpha, float beta) const {
    const Operand A(x, x.M, x.K, x.trans_a), B(x, x.K, x.N, x.trans_b),
        C(x, x.M, x.N, GT_NO_TRANSPOSE);
    const std::vector<float> a = integers(A.size(x.batch), 1), b = integers(B.size(x.batch), 2);
    const std::vector<float> values = integers(C.size(x.batch), 3);
    constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> c(values.size(), kNaN), want(values.size(), kNaN);
    for (std::int64_t entry = 0; entry < x.batch; ++entry) {
      for (std::int64_t m = 0; m < x.M; ++m) {
        for (std::int64_t n = 0; n < x.N; ++n) {
          const std::size_t at = C.at(entry, m, n);
          float sum = 0;
          for (std::int64_t k = 0; k < x.K; ++k) sum += a[A.at(entry, m, k)] * b[B.at(entry, k, n)];
          if (beta != 0.0F) c[at] = values[at];
          want[at] = alpha * sum + (beta == 0.0F ? 0.0F : beta * values[at]);
        }
      }
    }
    DeviceBuffer<float> device_a(a.size()), device_b(b.size()), device_c(c.size());
    device_a.copy_from_host(a);
    device_b.copy_from_host(b);
    device_c.copy_from_host(c);
    const Stream stream;
    gt_gemm_call call = call_of(x, alpha, beta);
    call.A = device_a.data() + x.offset;
    call.B = device_b.data() + x.offset;
    call.C = call.D = device_c.data() + x.offset;
    ASSERT_EQ(gt_gemm(handle_, stream.get(), &call), GT_OK) << gt_last_error();
    stream.synchronize();
    std::vector<float> result(c.size());
    device_c.copy_to_host(result);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(result[i])) << "wrote outside C, at cell " << i;
      } else {
        ASSERT_EQ(result[i], want[i]) << "at cell " << i;
      }
    }
  }

  const TempFolder temp_;
  const std::filesystem::path directory_ = temp_.path();
  gt_handle* handle_ = nullptr;
};

TEST_F(SgemmGpuTest, MultipliesTheTunedShape) { expect_exact({1024, 1024, 1024}, 1, 0); }

TEST_F(SgemmGpuTest, MultipliesRaggedShapes) {
  expect_exact({1, 1, 1}, 1, 0);
  expect_exact({129, 131, 67}, 2, 1);
  expect_exact({5, 1000, 3}, 1, 0);
}

TEST_F(SgemmGpuTest, MultipliesWithWideLeadingDimensionsAndOddAddresses) {
  expect_exact({256, 256, 256, 4}, 1, 0);
  expect_exact({256, 256, 256, 0, 1}, 1, 2);
  expect_exact({255, 257, 127, 3, 2}, 1, 2);
}

TEST_F(SgemmGpuTest, EmptySumsScaleC) {
  expect_exact({130, 70, 0, 4}, 1, 0);
  expect_exact({130, 70, 0, 4}, 1, 2);
  expect_exact({130, 70, 40}, 0, 0);
}

TEST_F(SgemmGpuTest, MultipliesInEveryOrderAndLayout) {
  for (const gt_order order : {GT_ROW_MAJOR, GT_COLUMN_MAJOR}) {
    for (const gt_transpose a : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
      for (const gt_transpose b : {GT_NO_TRANSPOSE, GT_TRANSPOSE}) {
        SCOPED_TRACE(std::string(order == GT_COLUMN_MAJOR ? "column-major " : "row-major ") +
                     std::string(to_string(layout_of(a == GT_TRANSPOSE, b == GT_TRANSPOSE))));
        expect_exact({128, 64, 32, 0, 0, order, a, b}, 1, 0);
        expect_exact({67, 129, 35, 3, 1, order, a, b}, 2, 1);
        expect_exact({1, 5, 1000, 0, 0, order, a, b}, 1, 0);
        expect_exact({65, 33, 17, 2, 0, order, a, b, 3, 7}, -1, 2);
      }
    }
  }
}

TEST_F(SgemmGpuTest, MultipliesBatches) {
  expect_exact({64, 64, 64, 0, 0, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 8}, 1, 0);
  expect_exact({33, 65, 16, 3, 1, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 5, 11}, 2, 1);
  expect_exact({33, 65, 0, 3, 1, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 5, 11}, 2, 2);
}

TEST_F(SgemmGpuTest, SplitsABatchThatExceedsTheGrid) {
  expect_exact({2, 3, 1, 0, 0, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, 65535 + 4}, 1, 0);
}

TEST_F(SgemmGpuTest, AStrideOfZeroUsesOneOperandForAll) {
  DeviceBuffer<float> a(2), b(3), c(6);
  a.copy_from_host(std::vector<float>{2, 3});
  b.copy_from_host(std::vector<float>{5, 7, 11});
  const Stream stream;
  // C_i [2,1] = A [2,1] * B_i [1,1]
  gt_gemm_call call = make_call(2, 1, 1);
  call.batch = 3;
  call.A = a.data();
  call.lda = 1;  // given: its stride of 0 is one for all
  call.B = b.data();
  call.D = c.data();
  ASSERT_EQ(gt_gemm(handle_, stream.get(), &call), GT_OK) << gt_last_error();
  stream.synchronize();
  std::vector<float> result(6);
  c.copy_to_host(result);
  EXPECT_EQ(result, (std::vector<float>{10, 15, 14, 21, 22, 33}));
}

TEST_F(SgemmGpuTest, ACOfItsOwnIsReadAndLeftAsItIs) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  Dispatcher dispatcher({.database = directory_ / "winners.db", .policy = Policy::deterministic});
  for (const char* text : {"67x129x35:batch=3", "128x128x128", "1024x1024x64"}) {
    SCOPED_TRACE(text);
    GemmCall call = packed_call(parse_problem(text));
    const Problem& p = call.problem;
    const auto size = [&](std::int64_t stride) {
      return static_cast<std::size_t>(p.batch * stride);
    };
    const std::vector<float> a = integers(size(call.stride_a), 1),
                             b = integers(size(call.stride_b), 2),
                             c = integers(size(call.stride_c), 3);
    DeviceBuffer<float> device_a(a.size()), device_b(b.size()), device_c(c.size()),
        device_d(c.size()), in_place_d(c.size());
    device_a.copy_from_host(a);
    device_b.copy_from_host(b);
    device_c.copy_from_host(c);
    device_d.copy_from_host(std::vector<float>(c.size(), kNaN));
    in_place_d.copy_from_host(c);
    call.alpha = 2;
    call.beta = -1;
    const Stream stream;
    dispatcher.gemm(in_place(call, device_a.data(), device_b.data(), in_place_d.data()),
                    stream.get());
    call.A = device_a.data();
    call.B = device_b.data();
    call.C = device_c.data();
    call.D = device_d.data();
    dispatcher.gemm(call, stream.get());
    stream.synchronize();
    std::vector<float> result(c.size()), want(c.size()), c_after(c.size());
    device_d.copy_to_host(result);
    in_place_d.copy_to_host(want);
    device_c.copy_to_host(c_after);
    EXPECT_EQ(result, want);
    EXPECT_EQ(c_after, c);
  }
}

TEST_F(SgemmGpuTest, ASecondHandleTakesKernelsFromTheCache) {
  expect_exact({256, 256, 256}, 1, 0);
  ASSERT_EQ(cached_kernels(), 1U);
  gt_close(handle_);
  handle_ = nullptr;
  open();
  expect_exact({256, 256, 256}, 1, 0);
  EXPECT_EQ(cached_kernels(), 1U);
}

TEST_F(SgemmGpuTest, ThreadsShareAHandle) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 5; ++i) expect_exact({64 + t, 64 + i, 64}, 1, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SgemmGpuTest, LooksUpForTheCurrentDevice) {
  const gt_gemm_call call = make_call(1024, 1024, 1024);
  gt_recipe recipe;
  ASSERT_EQ(gt_lookup(handle_, nullptr, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_STREQ(recipe.config, kSampleConfig);
}

// No winner has the layout, so that cuBLAS serves; a product of its own that is captured, while the
// stream has work of another product, has scratch memory of its own.
TEST_F(SgemmGpuTest, CublasServesWhereNothingTunedFitsAlsoInAGraph) {
  gt_handle* best = nullptr;
  ASSERT_EQ(open_database(directory_ / "winners.db", &best), GT_OK) << gt_last_error();
  gt_gemm_call call = make_call(256, 192, 4096);
  call.trans_a = GT_TRANSPOSE;
  gt_recipe recipe{};
  ASSERT_EQ(gt_lookup(best, nullptr, &call, &recipe), GT_OK) << gt_last_error();
  EXPECT_STREQ(recipe.config, "cublas/WORKSPACE=33554432");
  const std::vector<float> a = integers(256 * 4096, 1), b = integers(4096 * 192, 2);
  DeviceBuffer<float> device_a(a.size()), device_b(b.size()), by_kernel(256 * 192),
      by_cublas(256 * 192), captured(256 * 192);
  device_a.copy_from_host(a);
  device_b.copy_from_host(b);
  const Stream stream;
  const auto multiply = [&](gt_handle* handle, float* D) {
    return gt_sgemm(handle, stream.get(), GT_ROW_MAJOR, GT_TRANSPOSE, GT_NO_TRANSPOSE, 256, 192,
                    4096, 1, device_a.data(), 256, device_b.data(), 192, 0, D, 192);
  };
  ASSERT_EQ(multiply(handle_, by_kernel.data()), GT_OK) << gt_last_error();
  ASSERT_EQ(multiply(best, by_cublas.data()), GT_OK) << gt_last_error();
  stream.synchronize();
  cudaGraph_t graph = nullptr;
  GT_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  EXPECT_EQ(multiply(best, captured.data()), GT_OK) << gt_last_error();
  GT_CUDA(cudaStreamEndCapture(stream.get(), &graph));
  cudaGraphExec_t executable = nullptr;
  GT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  GT_CUDA(cudaGraphLaunch(executable, stream.get()));
  ASSERT_EQ(multiply(best, by_cublas.data()), GT_OK) << gt_last_error();
  stream.synchronize();
  std::vector<float> expected(by_kernel.size()), eager(expected), replayed(expected);
  by_kernel.copy_to_host(expected);
  by_cublas.copy_to_host(eager);
  captured.copy_to_host(replayed);
  EXPECT_EQ(eager, expected);  // whole numbers: exact in any order
  EXPECT_EQ(replayed, expected);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  gt_close(best);
}

// The candidates run on the call's operands: D, which the call reads, must not have their sums.
TEST_F(SgemmGpuTest, RefinementLeavesTheResultAsOneCallMakesIt) {
  gt_options options = GT_OPTIONS_INIT;
  const std::string database = directory_ / "winners.db";
  options.database_path = database.c_str();
  options.refine_ms = 30'000;
  gt_handle* refining = nullptr;
  ASSERT_EQ(gt_open(&options, &refining), GT_OK) << gt_last_error();
  const Stream stream;
  for (const std::int64_t edge : {300, 512, 1024}) {  // two untuned, one tuned
    const auto size = static_cast<std::size_t>(edge * edge);
    const std::vector<float> a = integers(size, 1), b = integers(size, 2), c = integers(size, 3);
    DeviceBuffer<float> A(size), B(size), by_kernel(size), refined(size);
    A.copy_from_host(a);
    B.copy_from_host(b);
    for (gt_handle* const handle : {handle_, refining}) {
      DeviceBuffer<float>& D = handle == refining ? refined : by_kernel;
      D.copy_from_host(c);
      for (int call = 0; call < 2; ++call) {
        ASSERT_EQ(gt_sgemm(handle, stream.get(), GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE,
                           edge, edge, edge, 1, A.data(), edge, B.data(), edge, 1, D.data(), edge),
                  GT_OK)
            << gt_last_error();
      }
    }
    stream.synchronize();
    std::vector<float> expected(size), found(size);
    by_kernel.copy_to_host(expected);
    refined.copy_to_host(found);
    EXPECT_EQ(found, expected) << edge;
  }
  gt_close(refining);
}

// The answer of an earlier handle, whatever serves by it: also captured, and for calls that name no
// C or another one, which a beta of 0 leaves unread.
TEST_F(SgemmGpuTest, AnAnswerOfTheFileServesCapturedCallsAndCallsWithoutC) {
  constexpr std::int64_t kEdge = 300;
  constexpr std::size_t kSize = kEdge * kEdge;
  gt_options options = GT_OPTIONS_INIT;
  const std::string database = directory_ / "winners.db", choices = directory_ / "choices.txt";
  options.database_path = database.c_str();
  options.refined_choices = choices.c_str();
  options.refine_ms = 30'000;
  DeviceBuffer<float> A(kSize), B(kSize), C(kSize), D(kSize);
  A.copy_from_host(integers(kSize, 1));
  B.copy_from_host(integers(kSize, 2));
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = call.N = call.K = call.lda = call.ldb = call.ldc = kEdge;
  call.A = A.data(), call.B = B.data(), call.C = D.data(), call.D = D.data();
  const Stream stream;
  const auto result_of = [&](const auto& enqueue) {
    D.fill_bytes(0xff, stream.get());
    enqueue();
    stream.synchronize();
    std::vector<float> result(kSize);
    D.copy_to_host(result);
    return result;
  };
  std::vector<float> expected;
  for (const double refine_ms : {30'000.0, 0.0}) {  // the second handle knows the answer
    options.refine_ms = refine_ms;
    gt_handle* handle = nullptr;
    ASSERT_EQ(gt_open(&options, &handle), GT_OK) << gt_last_error();
    const auto multiply = [&] {
      EXPECT_EQ(gt_gemm(handle, stream.get(), &call), GT_OK) << gt_last_error();
    };
    call.C = D.data();
    if (refine_ms > 0) {
      expected = result_of(multiply);
    } else {
      const LaunchGraph captured(stream, multiply);
      EXPECT_EQ(result_of([&] { captured.launch(stream.get()); }), expected);
    }
    for (float* const unread : {static_cast<float*>(nullptr), C.data()}) {
      call.C = unread;
      EXPECT_EQ(result_of(multiply), expected);
    }
    gt_close(handle);
  }
  EXPECT_TRUE(std::filesystem::exists(choices));
}

}  // namespace
}  // namespace gemm_tune
