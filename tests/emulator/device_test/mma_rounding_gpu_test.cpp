// SPDX-License-Identifier: Apache-2.0
// Whether a GPU's tensor cores round as the emulator says (tests/emulator/device/tensor_core.h):
// configs of mma and wgmma compiled for the GPU at hand, on 64 x 64 outputs and on a ragged shape,
// operands uniform in [-1, 1). Of mma the size of the error is compared, of wgmma each bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/types/float16.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/compile.h"
#include "runtime/prepared_call.h"
#include "tests/emulator/device/tensor_core.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using Bits = std::vector<std::uint16_t>;

// Each layout, type, access width, way of copying and depth of instruction.
constexpr const char* kConfigs[] = {
    "mma/AB=2,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=0,PRED=0",
    "mma/AB=1,CD=0,BM=64,BN=64,BK=64,WM=32,WN=32,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=1,PRED=1",
    "mma/AB=2,CD=0,BM=32,BN=96,BK=32,WM=16,WN=48,MMA_K=16,STAGES=5,ASYNC=1,VEC=4,RASTER=8,SPLIT_K="
    "1,TA=1,TB=0,PRED=1",
    "mma/AB=1,CD=0,BM=128,BN=128,BK=32,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=2,RASTER=8,SPLIT_"
    "K=1,TA=1,TB=1,PRED=1",
    "mma/AB=1,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=16,BN=64,BK=32,WM=16,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=1,RASTER=8,SPLIT_K="
    "1,TA=0,TB=1,PRED=1",
    "mma/AB=2,CD=2,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=0,PRED=1",
    "mma/AB=1,CD=1,BM=64,BN=64,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=1,TB=0,PRED=1",
};

// Each layout, schedule, cluster, orientation, type and way of storing D. A tile is summed by one
// CTA.
constexpr const char* kWarpgroupConfigs[] = {
    "wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=0",
    "wgmma/AB=1,CD=1,BM=128,BN=256,GROUPS=2,PINGPONG=0,TA=0,TB=1",
    "wgmma/AB=2,CD=0,BM=256,BN=128,GROUPS=2,PINGPONG=0,CLUSTER_M=2,TA=1,TB=0",
    "wgmma/AB=1,CD=0,BM=64,BN=128,GROUPS=1,PINGPONG=0,CLUSTER_N=2,TA=1,TB=1",
    "wgmma/AB=2,CD=2,BM=192,BN=128,GROUPS=3,PINGPONG=0,TA=0,TB=1",
    "wgmma/AB=2,CD=2,BM=64,BN=96,GROUPS=1,PINGPONG=0,SWAP=1,TA=0,TB=1",
    "wgmma/AB=1,CD=1,BM=64,BN=208,GROUPS=2,PINGPONG=1,TA=0,TB=1",
    "wgmma/AB=2,CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,SWAP=1,TA=0,TB=0",
    "wgmma/AB=2,CD=2,BM=64,BN=176,GROUPS=1,PINGPONG=0,TA=1,TB=0",
    "wgmma/AB=1,CD=1,BM=128,BN=192,GROUPS=2,PINGPONG=1,CLUSTER_M=2,TA=0,TB=1",
    "wgmma/AB=2,CD=2,BM=64,BN=32,GROUPS=1,PINGPONG=0,CLUSTER_M=2,CLUSTER_N=2,TA=0,TB=1",
    "wgmma/AB=2,CD=2,BM=256,BN=112,GROUPS=2,PINGPONG=0,TA=0,TB=1",
};

std::string compile(const KnownConfig& config, const std::string& arch) {
  const CompileResult result =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, arch);
  if (!result.ok) throw Error(to_string(config.config()) + ": " + result.log);
  return result.cubin;
}

// A problem of the config with rows padded to its alignment, its operands on the host and on the
// device.
class Product {
 public:
  Product(const KnownConfig& config, std::int64_t M, std::int64_t N, std::int64_t K)
      : config_(config),
        problem_(packed_problem(M, N, K, config.recipe.layout)),
        format_(config.traits.signature.a == ElementType::f16 ? kF16 : kBf16) {
    problem_.signature = config.traits.signature;
    problem_.alignment = uniform_alignment(problem_.signature, config.recipe.alignment);
    call_ = packed_call(problem_);
    for (std::int64_t* ld : {&call_.lda, &call_.ldb, &call_.ldc}) {
      const int alignment = config.recipe.alignment;
      *ld = (*ld + alignment - 1) / alignment * alignment;
    }
    a_ = random_bits(rows_a(problem_) * call_.lda, 1);
    b_ = random_bits(rows_b(problem_) * call_.ldb, 2);
    A_ = DeviceBuffer<std::uint16_t>(a_.size());
    B_ = DeviceBuffer<std::uint16_t>(b_.size());
    A_.copy_from_host(a_);
    B_.copy_from_host(b_);
    d_bytes_ = DeviceBuffer<char>(
        static_cast<std::size_t>(M * call_.ldc * bytes_of(problem_.signature.d)));
    d_bytes_.fill_bytes(0xff);
    call_ = in_place(call_, A_.data(), B_.data(), d_bytes_.data());
  }

  void launch(const LoadedKernels& kernels, const DeviceSpec& device) {
    PreparedCall(kernels, config_.plan(problem_, device.sm_count)).launch(call_, nullptr, nullptr);
  }

  // How many of so many launches give other bits than the first.
  int different_launches(const LoadedKernels& kernels, const DeviceSpec& device, int launches) {
    std::vector<char> first(d_bytes_.size()), again(d_bytes_.size());
    int different = 0;
    for (int i = 0; i < launches; ++i) {
      d_bytes_.fill_bytes(0xff);
      launch(kernels, device);
      GT_CUDA(cudaDeviceSynchronize());
      d_bytes_.copy_to_host(i == 0 ? first : again);
      if (i > 0 && again != first) ++different;
    }
    return different;
  }

  struct Comparison {
    double error_ratio = 0;       // measured over emulated, both against fp64 in the Frobenius norm
    std::int64_t other_bits = 0;  // elements of D that are not the emulated ones
  };
  Comparison compare(const DeviceSpec& device) const {
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<char> bytes(d_bytes_.size());
    d_bytes_.copy_to_host(bytes);
    TensorCore core = tensor_core_of(device.sm());
    core.products = std::min(core.products, config_.config().get("MMA_K").value_or(core.products));
    double measured_error = 0, emulated_error = 0;
    Comparison result;
    const auto K = static_cast<std::size_t>(problem_.K);
    Bits a(K), b(K);
    for (std::int64_t row = 0; row < problem_.M; ++row) {
      for (std::int64_t col = 0; col < problem_.N; ++col) {
        double exact = 0;
        for (std::size_t k = 0; k < K; ++k) {
          a[k] = a_[element(row, static_cast<std::int64_t>(k), call_.lda,
                            transposes_a(problem_.layout))];
          b[k] = b_[element(static_cast<std::int64_t>(k), col, call_.ldb,
                            transposes_b(problem_.layout))];
          exact += double{to_float(format_, a[k])} * double{to_float(format_, b[k])};
        }
        const float emulated = as_d(emulator::multiply_add(core, format_, a, b, 0));
        const float measured = d_at(bytes, row * call_.ldc + col);
        measured_error += (measured - exact) * (measured - exact);
        emulated_error += (emulated - exact) * (emulated - exact);
        if (measured != emulated) ++result.other_bits;
      }
    }
    result.error_ratio = std::sqrt(measured_error / emulated_error);
    return result;
  }

 private:
  static std::size_t element(std::int64_t row, std::int64_t col, std::int64_t ld, bool transposed) {
    return static_cast<std::size_t>(transposed ? col * ld + row : row * ld + col);
  }

  Bits random_bits(std::int64_t count, unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    Bits bits(static_cast<std::size_t>(count));
    for (std::uint16_t& element : bits) element = from_float(format_, uniform(random));
    return bits;
  }

  float as_d(float value) const {
    if (problem_.signature.d == ElementType::f32) return value;
    return to_float(format_, from_float(format_, value));
  }

  float d_at(const std::vector<char>& bytes, std::int64_t index) const {
    const auto size = static_cast<std::size_t>(bytes_of(problem_.signature.d));
    const char* const from = bytes.data() + static_cast<std::size_t>(index) * size;
    if (size == sizeof(float)) {
      float value = 0;
      std::copy_n(from, size, reinterpret_cast<char*>(&value));
      return value;
    }
    std::uint16_t bits = 0;
    std::copy_n(from, size, reinterpret_cast<char*>(&bits));
    return to_float(format_, bits);
  }

  const KnownConfig& config_;
  Problem problem_;
  Float16Format format_;
  GemmCall call_;
  Bits a_, b_;
  DeviceBuffer<std::uint16_t> A_, B_;
  DeviceBuffer<char> d_bytes_;
};

class MmaRoundingTest : public GpuTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    device_ = query_device(current_device());
    config_.emplace(check_config(parse_config(GetParam())));
    if (device_.sm() < config_->traits.least_sm) {
      GTEST_SKIP() << device_.arch << " has no instruction of the config";
    }
    kernels_ = std::make_unique<LoadedKernels>(compile(*config_, device_.arch));
  }

  Product::Comparison compare_at(std::int64_t M, std::int64_t N, std::int64_t K) {
    Product product(*config_, M, N, K);
    product.launch(*kernels_, device_);
    return product.compare(device_);
  }

  int different_launches() {
    return Product(*config_, 64, 64, 4096).different_launches(*kernels_, device_, 100);
  }

  DeviceSpec device_;
  std::optional<KnownConfig> config_;
  std::unique_ptr<LoadedKernels> kernels_;
};

TEST_P(MmaRoundingTest, TheErrorIsTheEmulatedOneAndEveryLaunchGivesTheSameBits) {
  for (const int K : {64, 1024, 4096}) {
    EXPECT_NEAR(compare_at(64, 64, K).error_ratio, 1, 0.1) << K;
  }
  if (config_->traits.predicated) {
    EXPECT_NEAR(compare_at(61, 75, 333).error_ratio, 1, 0.1);
  }
  EXPECT_EQ(different_launches(), 0);
}

INSTANTIATE_TEST_SUITE_P(Configs, MmaRoundingTest, testing::ValuesIn(kConfigs));

class WarpgroupRoundingTest : public MmaRoundingTest {};

TEST_P(WarpgroupRoundingTest, EachBitIsTheEmulatedOneAndEveryLaunchGivesTheSame) {
  for (const int K : {64, 1000, 4096}) EXPECT_EQ(compare_at(64, 64, K).other_bits, 0) << K;
  EXPECT_EQ(compare_at(161, 275, 333).other_bits, 0);
  EXPECT_EQ(different_launches(), 0);
}

INSTANTIATE_TEST_SUITE_P(Configs, WarpgroupRoundingTest, testing::ValuesIn(kWarpgroupConfigs));

}  // namespace
}  // namespace gemm_tune
