// SPDX-License-Identifier: Apache-2.0
// Whether wgmma rounds tf32 and e4m3, and mma tf32, as the emulator says, bit for bit, the launch
// that packs operands included. Operands are uniform in [-1, 1), or in [0, 1), where what is cut
// off adds up.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/types/float8.h"
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

// D of f32; each layout of either type, and rows of any alignment where operands are packed.
constexpr const char* kConfigsOfTypes[] = {
    "wgmma/AB=0,CD=0,BM=128,BN=128,GROUPS=2,PINGPONG=1,TA=0,TB=0",
    "wgmma/AB=0,CD=0,BM=256,BN=128,GROUPS=2,PINGPONG=0,CLUSTER_M=2,TA=0,TB=1",
    "wgmma/AB=0,CD=0,BM=64,BN=96,GROUPS=1,PINGPONG=0,SWAP=1,TA=1,TB=0",
    "wgmma/AB=0,CD=0,BM=64,BN=208,GROUPS=2,PINGPONG=1,TA=1,TB=1",
    "wgmma/AB=3,CD=0,BM=128,BN=192,GROUPS=2,PINGPONG=0,TA=0,TB=1",
    "wgmma/AB=3,CD=0,BM=64,BN=128,GROUPS=2,PINGPONG=1,PROMOTE=64,TA=0,TB=0",
    "wgmma/AB=3,CD=0,BM=64,BN=64,GROUPS=1,PINGPONG=0,SWAP=1,PROMOTE=32,TA=1,TB=0",
    "wgmma/AB=3,CD=0,BM=192,BN=64,GROUPS=3,PINGPONG=0,REPACK=1,TA=0,TB=1",
    "wgmma/AB=3,CD=0,BM=64,BN=32,GROUPS=1,PINGPONG=0,CLUSTER_N=2,TA=1,TB=1",
    "mma/AB=0,CD=0,BM=128,BN=128,BK=16,WM=64,WN=64,MMA_K=8,STAGES=4,ASYNC=1,VEC=4,RASTER=8,SPLIT_K="
    "1,TA=0,TB=1,PRED=1,ACCURACY=2",
    "mma/AB=0,CD=0,BM=64,BN=96,BK=32,WM=32,WN=48,MMA_K=8,STAGES=2,ASYNC=0,VEC=2,RASTER=8,SPLIT_K="
    "1,TA=1,TB=0,PRED=1,ACCURACY=2",
};

// An element's bits in memory, as the product's launches take it, and as its tensor cores get it.
std::uint32_t stored_bits(ElementType type, float value) {
  return type == ElementType::e4m3 ? e4m3_from_float(value) : std::bit_cast<std::uint32_t>(value);
}
std::uint32_t multiplied_bits(ElementType type, std::uint32_t bits) {
  return type == ElementType::e4m3 ? bits : (bits + 0x1000) & ~0x1fffu;
}

class ProductOfType {
 public:
  ProductOfType(const KnownConfig& config, std::int64_t M, std::int64_t N, std::int64_t K,
                float least)
      : config_(config), problem_(packed_problem(M, N, K, config.recipe.layout)) {
    problem_.signature = config.traits.signature;
    GemmCall call = packed_call(problem_);
    const std::int64_t aligned = config.traits.pack ? 1 : 16;
    for (std::int64_t* ld : {&call.lda, &call.ldb, &call.ldc}) {
      *ld = (*ld + aligned - 1) / aligned * aligned;
    }
    a_ = random_bits(rows_a(problem_) * call.lda, least, 1);
    b_ = random_bits(rows_b(problem_) * call.ldb, least, 2);
    A_ = on_device(a_);
    B_ = on_device(b_);
    D_ = DeviceBuffer<float>(static_cast<std::size_t>(M * call.ldc));
    call_ = in_place(call, A_.data(), B_.data(), D_.data());
    problem_ = problem_of(call_);
  }

  std::vector<float> launch(const LoadedKernels& kernels, const DeviceSpec& device) {
    const LaunchPlan plan = config_.plan(problem_, device.sm_count);
    DeviceBuffer<char> workspace(
        std::max<std::size_t>(static_cast<std::size_t>(plan.workspace_bytes), 1));
    workspace.fill_bytes(0xff);
    D_.fill_bytes(0);
    PreparedCall(kernels, plan).launch(call_, workspace.data(), nullptr);
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<float> result(D_.size());
    D_.copy_to_host(result);
    return result;
  }

  // Elements of D that are not the emulated ones.
  int other_bits(const std::vector<float>& result) const {
    const ElementType type = problem_.signature.a;
    const emulator::OperandFormat format =
        type == ElementType::e4m3 ? emulator::kOperandE4m3 : emulator::kOperandTf32;
    const std::size_t depth = static_cast<std::size_t>(format.depth());
    const std::size_t K = static_cast<std::size_t>(problem_.K);
    const std::size_t padded = (K + 127) / 128 * 128;
    const auto promoted = static_cast<std::size_t>(config_.traits.promoted_k);
    const TensorCore core = tensor_core_of(90);
    std::vector<std::uint32_t> a(padded), b(padded);
    int different = 0;
    for (std::int64_t row = 0; row < problem_.M; ++row) {
      for (std::int64_t col = 0; col < problem_.N; ++col) {
        for (std::size_t k = 0; k < K; ++k) {
          const auto at = static_cast<std::int64_t>(k);
          const bool ta = transposes_a(problem_.layout), tb = transposes_b(problem_.layout);
          const std::int64_t in_a = ta ? at * call_.lda + row : row * call_.lda + at;
          const std::int64_t in_b = tb ? col * call_.ldb + at : at * call_.ldb + col;
          a[k] = multiplied_bits(type, a_[static_cast<std::size_t>(in_a)]);
          b[k] = multiplied_bits(type, b_[static_cast<std::size_t>(in_b)]);
        }
        float total = 0, sum = 0;
        for (std::size_t k = 0; k < padded; k += depth) {
          emulator::multiply_add(core, format, std::span(a).subspan(k, depth),
                                 std::span(b).subspan(k, depth), std::span(&sum, 1));
          if (promoted > 0 && (k + depth) % promoted == 0) {
            total += sum;
            sum = 0;
          }
        }
        if (promoted == 0) total = sum;
        if (result[static_cast<std::size_t>(row * call_.ldc + col)] != total) ++different;
      }
    }
    return different;
  }

 private:
  std::vector<std::uint32_t> random_bits(std::int64_t count, float least, unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(least, 1.0f);
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(count));
    for (std::uint32_t& one : bits) one = stored_bits(problem_.signature.a, uniform(random));
    return bits;
  }

  DeviceBuffer<char> on_device(const std::vector<std::uint32_t>& elements) const {
    const auto size = static_cast<std::size_t>(bytes_of(problem_.signature.a));
    std::vector<char> bytes(elements.size() * size);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::memcpy(bytes.data() + i * size, &elements[i], size);
    }
    DeviceBuffer<char> buffer(bytes.size());
    buffer.copy_from_host(bytes);
    return buffer;
  }

  const KnownConfig& config_;
  Problem problem_;
  GemmCall call_;
  std::vector<std::uint32_t> a_, b_;
  DeviceBuffer<char> A_, B_;
  DeviceBuffer<float> D_;
};

class TypesByWgmmaTest : public GpuTest, public testing::WithParamInterface<const char*> {};

TEST_P(TypesByWgmmaTest, EachBitIsTheEmulatedOneAndEveryLaunchGivesTheSame) {
  const DeviceSpec device = query_device(current_device());
  const KnownConfig config = check_config(parse_config(GetParam()));
  if (!has_instructions(config.traits, device.sm())) {
    GTEST_SKIP() << device.arch << " has no instruction of the config";
  }
  const CompileResult compiled =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, device.arch);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  const LoadedKernels kernels(compiled.cubin);
  struct {
    int M, N, K;
  } constexpr kShapes[] = {{64, 64, 64}, {64, 64, 1000}, {64, 64, 4096}, {161, 275, 333}};
  for (const auto& shape : kShapes) {
    for (const float least : {-1.0f, 0.0f}) {
      ProductOfType product(config, shape.M, shape.N, shape.K, least);
      const std::vector<float> first = product.launch(kernels, device);
      EXPECT_EQ(product.other_bits(first), 0) << shape.K << " from " << least;
      for (int i = 0; i < 20; ++i) EXPECT_EQ(product.launch(kernels, device), first);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, TypesByWgmmaTest, testing::ValuesIn(kConfigsOfTypes));

}  // namespace
}  // namespace gemm_tune
