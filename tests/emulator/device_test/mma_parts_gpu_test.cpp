// SPDX-License-Identifier: Apache-2.0
// Whether fp32 products of f16 parts by mma.sync are, bit for bit, what the emulator says, the
// launch that splits operands included; and fp32's own where parts do not hold the operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

  // Elements of D that are not those of want(row of A, column of B).
  template <class Want>
  int others_than(Want want) const {
    const auto K = static_cast<std::size_t>(problem_.K);
    std::vector<float> a(K), b(K);
    int others = 0;
    for (std::int64_t row = 0; row < problem_.M; ++row) {
      for (std::int64_t col = 0; col < problem_.N; ++col) {
        for (std::int64_t k = 0; k < problem_.K; ++k) {
          const bool ta = transposes_a(problem_.layout), tb = transposes_b(problem_.layout);
          const std::int64_t in_a = ta ? k * problem_.M + row : row * problem_.K + k;
          const std::int64_t in_b = tb ? col * problem_.K + k : k * problem_.N + col;
          a[static_cast<std::size_t>(k)] = a_[static_cast<std::size_t>(in_a)];
          b[static_cast<std::size_t>(k)] = b_[static_cast<std::size_t>(in_b)];
        }
        const float got = d_[static_cast<std::size_t>(row * problem_.N + col)];
        const float wanted = want(a, b);
        if (got != wanted && !(std::isnan(got) && std::isnan(wanted))) ++others;
      }
    }
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
  ProductOfParts infinite(config, 61, 75, 333);
  infinite.set_a(std::numeric_limits<float>::infinity());
  infinite.launch(kernels, device);
  const auto in_fp32 = [](const std::vector<float>& a, const std::vector<float>& b) {
    float sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum = std::fma(a[k], b[k], sum);
    return sum;
  };
  EXPECT_EQ(infinite.others_than(in_fp32), 0);
}

INSTANTIATE_TEST_SUITE_P(Configs, MmaPartsTest, testing::ValuesIn(kConfigsOfParts));

}  // namespace
}  // namespace gemm_tune
