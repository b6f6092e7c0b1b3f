// SPDX-License-Identifier: Apache-2.0
// Whether a GPU's tensor cores round as the emulator says, and how fast mma configs are there.
//
// usage: mma_check [SIZE [LAUNCHES]]
// 1. Some configs, compiled for the GPU at hand, on 64 x 64 outputs at K = 64, 1024 and 4096 and on
//    a ragged shape, operands uniform in [-1, 1): relative Frobenius error against fp64, the same
//    of the emulated product (tests/emulator/tensor_core.h), and how many elements differ in a bit.
//    At K = 4096, LAUNCHES (100) must give the same bits.
// 2. TFLOP/s of some configs at SIZE (4096) cubed, the median of 20 launches by events, hot
// operands. Needs a GPU from sm_80 on. Exits 1 where a measured error is not within 10 % of the
// emulated one, or a result changes from launch to launch.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/float16.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "gpu/memory.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/launch_args.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"
#include "tests/emulator/tensor_core.h"

namespace gemm_tune {
namespace {

using Bits = std::vector<std::uint16_t>;

// Each layout, type, access width, way of copying and depth of instruction.
constexpr const char* kConfigs[] = {
    "mma/AB=2,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=0,PRED=0",
    "mma/AB=1,CD=0,BM=64,BN=64,BK=64,WM=32,WN=32,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_K="
    "1,TA=0,TB=1,PRED=1",
    "mma/AB=2,CD=0,BM=32,BN=96,BK=16,WM=16,WN=48,MMA_K=16,STAGES=5,ASYNC=1,VEC=4,RASTER=8,SPLIT_K="
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
constexpr const char* kTimed[] = {
    "mma/AB=2,CD=2,BM=128,BN=128,BK=32,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_"
    "K=1,TA=0,TB=0,PRED=0",
    "mma/AB=2,CD=2,BM=128,BN=128,BK=64,WM=64,WN=32,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_"
    "K=1,TA=0,TB=0,PRED=0",
    "mma/AB=2,CD=2,BM=128,BN=256,BK=32,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_"
    "K=1,TA=0,TB=0,PRED=0",
    "mma/AB=2,CD=2,BM=128,BN=256,BK=64,WM=64,WN=64,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_"
    "K=1,TA=0,TB=1,PRED=0",
    "mma/AB=1,CD=1,BM=256,BN=128,BK=32,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=8,RASTER=8,SPLIT_"
    "K=1,TA=0,TB=0,PRED=1",
};

LoadedKernel load(const KnownConfig& config, const std::string& arch) {
  const KernelSource source = kernel_source(*config.family);
  const CompileResult result =
      nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(config), arch);
  if (!result.ok) throw Error(to_string(config.config()) + ": " + result.log);
  std::printf("%d registers, %lld bytes spilled: %s\n", result.resources.registers,
              static_cast<long long>(result.resources.spill_bytes),
              to_string(config.config()).c_str());
  return LoadedKernel(result.cubin);
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

  void launch(const LoadedKernel& kernel, const DeviceSpec& device) {
    const Grid grid = grid_of(config_.recipe, problem_, device.sm_count);
    GemmArgs args = launch_args(call_, grid, nullptr, nullptr);
    void* pointers[] = {&args};
    kernel.launch(grid, config_.recipe.block_threads, config_.recipe.smem_bytes, nullptr, pointers);
  }

  // Prints a line; whether each of so many launches gives the same bits.
  bool repeats(const LoadedKernel& kernel, const DeviceSpec& device, int launches) {
    std::vector<char> first(d_bytes_.size()), again(d_bytes_.size());
    int different = 0;
    for (int i = 0; i < launches; ++i) {
      d_bytes_.fill_bytes(0xff);
      launch(kernel, device);
      GT_CUDA(cudaDeviceSynchronize());
      d_bytes_.copy_to_host(i == 0 ? first : again);
      if (i > 0 && again != first) ++different;
    }
    std::printf("%-4s %d of %d launches differ from the first\n", different == 0 ? "good" : "BAD",
                different, launches);
    return different == 0;
  }

  // Prints a line; whether the measured error is the emulated one.
  bool judge(const DeviceSpec& device) const {
    GT_CUDA(cudaDeviceSynchronize());
    std::vector<char> bytes(d_bytes_.size());
    d_bytes_.copy_to_host(bytes);
    TensorCore core = tensor_core_of(device.sm());
    core.products = std::min(core.products, config_.config().get("MMA_K").value());
    double measured_error = 0, emulated_error = 0, norm = 0;
    int different = 0;
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
        norm += exact * exact;
        if (std::bit_cast<std::uint32_t>(measured) != std::bit_cast<std::uint32_t>(emulated)) {
          ++different;
        }
      }
    }
    const double ratio = std::sqrt(measured_error / emulated_error);
    const bool good = std::abs(ratio - 1) < 0.1;
    std::printf("%-4s %lldx%lldx%lld measured %.4e emulated %.4e ratio %.4f, %d elements differ\n",
                good ? "good" : "BAD", static_cast<long long>(problem_.M),
                static_cast<long long>(problem_.N), static_cast<long long>(problem_.K),
                std::sqrt(measured_error / norm), std::sqrt(emulated_error / norm), ratio,
                different);
    std::fflush(stdout);
    return good;
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

bool check(const char* text, const DeviceSpec& device, int launches) {
  const KnownConfig config = check_config(parse_config(text));
  const LoadedKernel kernel = load(config, device.arch);
  bool good = true;
  const auto run = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
    Product product(config, M, N, K);
    product.launch(kernel, device);
    good = product.judge(device) && good;
    if (K == 4096) good = product.repeats(kernel, device, launches) && good;
  };
  for (const int K : {64, 1024, 4096}) run(64, 64, K);
  if (config.traits.predicated) run(61, 75, 333);
  return good;
}

void time(const char* text, const DeviceSpec& device, std::int64_t size) {
  const KnownConfig config = check_config(parse_config(text));
  const LoadedKernel kernel = load(config, device.arch);
  Product product(config, size, size, size);
  cudaEvent_t begin = nullptr, end = nullptr;
  GT_CUDA(cudaEventCreate(&begin));
  GT_CUDA(cudaEventCreate(&end));
  std::vector<float> times_ms;
  for (int i = 0; i < 25; ++i) {
    GT_CUDA(cudaEventRecord(begin));
    product.launch(kernel, device);
    GT_CUDA(cudaEventRecord(end));
    GT_CUDA(cudaEventSynchronize(end));
    float ms = 0;
    GT_CUDA(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 5) times_ms.push_back(ms);
  }
  GT_CUDA(cudaEventDestroy(begin));
  GT_CUDA(cudaEventDestroy(end));
  std::nth_element(times_ms.begin(), times_ms.begin() + 10, times_ms.end());
  const double cube = static_cast<double>(size) * static_cast<double>(size * size);
  std::printf("%.3f ms, %.0f TFLOP/s at %lld cubed\n", double{times_ms[10]},
              2 * cube / double{times_ms[10]} * 1e-9, static_cast<long long>(size));
  std::fflush(stdout);
}

int run(std::int64_t size, int launches) {
  check_driver();
  const DeviceSpec device = query_device(current_device());
  bool good = true;
  for (const char* config : kConfigs) good = check(config, device, launches) && good;
  for (const char* config : kTimed) time(config, device, size);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 100;
  if (argc > 3 || size < 256 || size % 256 != 0 || size > 16384 || launches < 1) {
    std::fprintf(stderr,
                 "usage: mma_check [SIZE [LAUNCHES]]; SIZE is a multiple of 256 up to 16384\n");
    return 2;
  }
  try {
    return gemm_tune::run(size, launches);
  } catch (const gemm_tune::Error& error) {
    std::fprintf(stderr, "mma_check: %s\n", error.what());
    return 3;
  }
}
