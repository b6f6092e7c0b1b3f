// gt_sgemm on a GPU, against sums of small integers, which are exact in any order.
#include <gemm_tune/gemm_tune.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/memory.h"
#include "gpu/stream.h"
#include "tests/dispatch/sample_database.h"
#include "tests/gpu/gpu_test.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

struct Shape {
  std::int64_t M, N, K;
  std::int64_t extra_ld = 0;  // of each matrix
  std::size_t offset = 0;     // of each base address, in elements
};

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
    ASSERT_EQ(
        gt_open((directory_ / "winners.db").c_str(), (directory_ / "kernels").c_str(), &handle_),
        GT_OK)
        << gt_last_error();
  }
  std::size_t cached_kernels() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_ / "kernels"), {}));
  }

  static std::vector<float> integers(std::size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float& value : values) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<float>(static_cast<int>(seed >> 28) - 8);
    }
    return values;
  }

  // Runs the shape with NaN between C's rows and, where beta is 0, in C; compares every element.
  void expect_exact(const Shape& shape, float alpha, float beta) const {
    const auto size = [&](std::int64_t rows, std::int64_t ld) {
      return static_cast<std::size_t>(rows * ld) + shape.offset;
    };
    const std::int64_t lda = shape.K + shape.extra_ld, ldb = shape.N + shape.extra_ld, ldc = ldb;
    const std::vector<float> a = integers(size(shape.M, lda), 1),
                             b = integers(size(shape.K, ldb), 2);
    std::vector<float> c = integers(size(shape.M, ldc), 3);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const bool inside =
          i >= shape.offset && static_cast<std::int64_t>(i - shape.offset) % ldc < shape.N;
      if (!inside || beta == 0.0F) c[i] = std::numeric_limits<float>::quiet_NaN();
    }
    DeviceBuffer<float> device_a(a.size()), device_b(b.size()), device_c(c.size());
    device_a.copy_from_host(a);
    device_b.copy_from_host(b);
    device_c.copy_from_host(c);
    const Stream stream;
    ASSERT_EQ(gt_sgemm(handle_, stream.get(), shape.M, shape.N, shape.K, alpha,
                       device_a.data() + shape.offset, lda, device_b.data() + shape.offset, ldb,
                       beta, device_c.data() + shape.offset, ldc),
              GT_OK)
        << gt_last_error();
    stream.synchronize();
    std::vector<float> result(c.size());
    device_c.copy_to_host(result);
    compare(shape, alpha, beta, a, b, c, result);
  }

  static void compare(const Shape& shape, float alpha, float beta, const std::vector<float>& a,
                      const std::vector<float>& b, const std::vector<float>& c,
                      const std::vector<float>& result) {
    const std::int64_t lda = shape.K + shape.extra_ld, ldb = shape.N + shape.extra_ld, ldc = ldb;
    const auto at = [&](const std::vector<float>& x, std::int64_t i) {
      return x[static_cast<std::size_t>(i) + shape.offset];
    };
    for (std::int64_t m = 0; m < shape.M; ++m) {
      std::vector<float> row(static_cast<std::size_t>(shape.N));
      for (std::int64_t k = 0; k < shape.K; ++k) {
        for (std::int64_t n = 0; n < shape.N; ++n) {
          row[static_cast<std::size_t>(n)] += at(a, m * lda + k) * at(b, k * ldb + n);
        }
      }
      for (std::int64_t n = 0; n < ldc; ++n) {
        const float got = at(result, m * ldc + n);
        if (n >= shape.N) {
          ASSERT_TRUE(std::isnan(got)) << "wrote beyond C at " << m << ", " << n;
          continue;
        }
        const float old = beta == 0.0F ? 0.0F : beta * at(c, m * ldc + n);
        ASSERT_EQ(got, alpha * row[static_cast<std::size_t>(n)] + old) << "at " << m << ", " << n;
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
  gt_problem problem{};
  problem.M = problem.N = problem.K = 1024;
  gt_recipe recipe;
  ASSERT_EQ(gt_lookup(handle_, nullptr, &problem, &recipe), GT_OK) << gt_last_error();
  EXPECT_STREQ(recipe.config, kSampleConfig);
}

}  // namespace
}  // namespace gemm_tune
