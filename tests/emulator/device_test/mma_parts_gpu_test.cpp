// SPDX-License-Identifier: Apache-2.0
// Whether fp32 products of f16 parts by mma.sync are, bit for bit, what the emulator says, the
// launch that splits operands included; and whether elements on lines of which parts lose numbers
// are fp32's own, by wgmma, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/compile.h"
#include "runtime/prepared_call.h"
#include "tests/emulator/device/parts_product.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

// Each layout, both depths of an instruction, windows of a slice, warp tiles and stages.
constexpr const char* kConfigsOfParts[] = {
    "mma_parts/BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,TA=0,TB=0",
    "mma_parts/BM=128,BN=64,BK=64,WM=64,WN=32,MMA_K=16,STAGES=2,TA=0,TB=1",
    "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=4,TA=1,TB=0",
    "mma_parts/BM=64,BN=96,BK=32,WM=16,WN=48,MMA_K=16,STAGES=2,TA=1,TB=1",
    "mma_parts/BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,TA=0,TB=0",
};

class ProductOfParts {
 public:
  ProductOfParts(const KnownConfig& config, std::int64_t M, std::int64_t N, std::int64_t K)
      : config_(config),
        problem_(packed_problem(M, N, K, config.recipe.layout, 1, config.traits.signature)),
        a_(random(M * K, 1)),
        b_(random(K * N, 2)) {}

  void set_a(float value) { a_[a_.size() / 2] = value; }

  void launch(const LoadedKernels& kernels, const DeviceSpec& device) {
    DeviceBuffer<float> a(a_.size()), b(b_.size());
    d_.resize(static_cast<std::size_t>(problem_.M * problem_.N));
    DeviceBuffer<float> d(d_.size());
    a.copy_from_host(a_);
    b.copy_from_host(b_);
    const LaunchPlan plan = config_.plan(problem_, device.sm_count);
    DeviceBuffer<char> workspace(static_cast<std::size_t>(plan.workspace_bytes));
    workspace.fill_bytes(0);
    const GemmCall call = in_place(packed_call(problem_), a.data(), b.data(), d.data());
    PreparedCall(kernels, plan).launch(call, workspace.data(), nullptr);
    GT_CUDA(cudaDeviceSynchronize());
    d.copy_to_host(d_);
  }

  const std::vector<float>& d() const { return d_; }

  float on_losing_row(const std::vector<float>& a, const std::vector<float>& b) const {
    return emulator::product_on_losing_line(a, b, transposes_b(problem_.layout), /*fused=*/true);
  }

  // visit(row of A, column of B, element of D) for each.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto K = static_cast<std::size_t>(problem_.K);
    std::vector<float> a(K), b(K);
    for (std::int64_t row = 0; row < problem_.M; ++row) {
      for (std::int64_t col = 0; col < problem_.N; ++col) {
        for (std::int64_t k = 0; k < problem_.K; ++k) {
          const bool ta = transposes_a(problem_.layout), tb = transposes_b(problem_.layout);
          const std::int64_t in_a = ta ? k * problem_.M + row : row * problem_.K + k;
          const std::int64_t in_b = tb ? col * problem_.K + k : k * problem_.N + col;
          a[static_cast<std::size_t>(k)] = a_[static_cast<std::size_t>(in_a)];
          b[static_cast<std::size_t>(k)] = b_[static_cast<std::size_t>(in_b)];
        }
        visit(a, b, d_[static_cast<std::size_t>(row * problem_.N + col)]);
      }
    }
  }

  // Elements of D that are not those of want(row of A, column of B).
  template <class Want>
  int others_than(Want want) const {
    int others = 0;
    for_each([&](const std::vector<float>& a, const std::vector<float>& b, float got) {
      const float wanted = want(a, b);
      if (got != wanted && !(std::isnan(got) && std::isnan(wanted))) ++others;
    });
    return others;
  }

 private:
  static std::vector<float> random(std::int64_t count, unsigned seed) {
    std::mt19937 numbers(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& x : all) x = uniform(numbers);
    return all;
  }

  const KnownConfig& config_;
  Problem problem_;
  std::vector<float> a_, b_, d_;
};

// Numbers that the parts of lines of numbers around 1 do not hold.
constexpr float kLost[] = {std::numeric_limits<float>::infinity(), 0x1.234568p-40f};

bool loses_numbers(const std::vector<float>& line) {
  return std::any_of(line.begin(), line.end(),
                     [](float x) { return x == kLost[0] || x == kLost[1]; });
}

class MmaPartsTest : public GpuTest, public testing::WithParamInterface<const char*> {};

TEST_P(MmaPartsTest, EachBitIsTheEmulatedOneAndEveryLaunchGivesTheSame) {
  const DeviceSpec device = query_device(current_device());
  const KnownConfig config = check_config(parse_config(GetParam()));
  if (device.sm() < config.traits.least_sm) GTEST_SKIP() << device.arch << " is too old";
  const CompileResult compiled =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, device.arch);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  const LoadedKernels kernels(compiled.cubin);
  TensorCore core = tensor_core_of(device.sm());
  core.products = std::min(core.products, config.config().get("MMA_K").value());
  const float cut_off = device.sm() < 90 ? 0x1p-23f : 0;
  const auto emulated = [&](const std::vector<float>& a, const std::vector<float>& b) {
    return emulator::product_of_parts(core, a, b, cut_off);
  };
  for (const auto& [M, N, K] : {std::tuple{64, 64, 64}, {128, 64, 4096}, {161, 275, 333}}) {
    ProductOfParts product(config, M, N, K);
    product.launch(kernels, device);
    EXPECT_EQ(product.others_than(emulated), 0) << M << "x" << N << "x" << K;
    const std::vector<float> first = product.d();
    for (int i = 0; i < 20; ++i) {
      product.launch(kernels, device);
      EXPECT_EQ(product.d(), first) << i;
    }
  }
  for (const float lost : kLost) {
    ProductOfParts product(config, 61, 75, 333);
    product.set_a(lost);
    product.launch(kernels, device);
    const auto as_told = [&](const std::vector<float>& a, const std::vector<float>& b) {
      return loses_numbers(a) ? product.on_losing_row(a, b) : emulated(a, b);
    };
    EXPECT_EQ(product.others_than(as_told), 0) << lost;
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, MmaPartsTest, testing::ValuesIn(kConfigsOfParts));

// Each layout, one consumer and two, several tiles, a K along which rows are aligned and one along
// which they are not; lines that warps, teams and clusters split.
constexpr const char* kConfigsByWgmma[] = {
    "wgmma_parts/BM=128,BN=128,GROUPS=2,PROMOTE=64,TA=0,TB=0",
    "wgmma_parts/BM=128,BN=144,GROUPS=2,PROMOTE=64,TA=0,TB=1",
    "wgmma_parts/BM=128,BN=64,GROUPS=2,PROMOTE=64,TA=1,TB=0",
    "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=1,TB=1",
};

class WgmmaPartsTest : public GpuTest, public testing::WithParamInterface<const char*> {};

TEST_P(WgmmaPartsTest, ElementsOnLinesThatLoseNumbersAreFp32sOwnAndTheOthersAreNot) {
  const DeviceSpec device = query_device(current_device());
  if (device.sm() != 90) GTEST_SKIP() << device.arch << " has no wgmma";
  const KnownConfig config = check_config(parse_config(GetParam()));
  const CompileResult compiled =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, device.arch);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  const LoadedKernels kernels(compiled.cubin);
  for (const int K : {333, 2304, 5000}) {
    for (const float lost : kLost) {
      ProductOfParts product(config, 161, 151, K);
      product.set_a(lost);
      product.launch(kernels, device);
      int in_fp32s_bits = 0, off = 0, losing = 0;
      product.for_each([&](const std::vector<float>& a, const std::vector<float>& b, float got) {
        const float own = product.on_losing_row(a, b);
        const bool is_own = got == own || (std::isnan(got) && std::isnan(own));
        if (loses_numbers(a)) {
          ++losing;
          if (!is_own) ++off;
          return;
        }
        if (is_own) ++in_fp32s_bits;
        double exact = 0, magnitude = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
          exact += double{a[k]} * b[k];
          magnitude += std::abs(double{a[k]} * b[k]);
        }
        if (!(std::abs(got - exact) <= magnitude * 0x1p-16)) ++off;
      });
      EXPECT_EQ(off, 0) << K << ", " << lost;
      EXPECT_EQ(losing, 151) << K << ", " << lost;
      EXPECT_LT(in_fp32s_bits, 161 * 151 / 2) << K << ", " << lost;
      const std::vector<float> first = product.d();
      for (int i = 0; i < 10; ++i) {
        product.launch(kernels, device);
        EXPECT_TRUE(std::memcmp(product.d().data(), first.data(), first.size() * 4) == 0) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, WgmmaPartsTest, testing::ValuesIn(kConfigsByWgmma));

}  // namespace
}  // namespace gemm_tune
