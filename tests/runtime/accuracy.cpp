// SPDX-License-Identifier: Apache-2.0
// Compares the errors of configs with cublasSgemm's, and checks that their results repeat exactly.
//
// usage: accuracy FILE [RUNS] [--bare]; a line of FILE: PROBLEM CONFIG, or a comment (#), as in
//   1000x1000x1000 warp_tiled/CLUSTER=0,...
// A config is launched RUNS times (default: 100) on the same operands; C starts as NaN each time.
// The reference is cublasDgemm's. Errors are relative, in the Frobenius norm. Operands are uniform
// in [-1, 1), or such numbers times powers of two from 2^-10 to 2^10 (`spread`). --bare leaves C
// and the partial sums as allocated, for compute-sanitizer's initcheck. Needs a GPU. Exits with 1
// if an error is more than 1.5 times cublasSgemm's or a result changes from run to run.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/program.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/prepared_call.h"
#include "runtime/workspace.h"
#include "tests/runtime/listed_configs.h"

namespace gemm_tune {
namespace {

constexpr double kMostOverCublas = 1.5;

struct Options {
  int runs = 100;
  bool bare = false;
};

std::vector<float> random_values(std::size_t count, bool spread, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::uniform_int_distribution<int> exponent(-10, 10);
  std::vector<float> values(count);
  for (float& value : values) {
    value = spread ? std::ldexp(uniform(random), exponent(random)) : uniform(random);
  }
  return values;
}

template <class T>
DeviceBuffer<T> on_device(const std::vector<float>& values) {
  DeviceBuffer<T> buffer(values.size());
  const std::vector<T> converted(values.begin(), values.end());
  buffer.copy_from_host(converted);
  return buffer;
}

template <class T>
std::vector<T> on_host(const DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  buffer.copy_to_host(values);
  return values;
}

// Packed operands of a problem, each matrix of a batch right after the one before.
template <class T>
GemmCall packed_call(Problem problem, const DeviceBuffer<T>& A, const DeviceBuffer<T>& B,
                     const DeviceBuffer<T>& C) {
  if (std::is_same_v<T, double>) problem.signature = signature_of(ElementType::f64);
  return in_place(gemm_tune::packed_call(problem), A.data(), B.data(), C.data());
}

double relative_error(const std::vector<float>& C, const std::vector<double>& reference) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < C.size(); ++i) {
    const double difference = static_cast<double>(C[i]) - reference[i];
    error += difference * difference;
    norm += reference[i] * reference[i];
  }
  return std::sqrt(error / norm);
}

// A config on its way to be launched for one problem.
class Candidate {
 public:
  Candidate(const KnownConfig& config, const Problem& problem, const DeviceSpec& device, bool bare)
      : kernels_(compiled(config, device.arch)),
        call_(kernels_, config.plan(problem, device.sm_count)),
        workspace_bytes_(call_.plan().workspace_bytes),
        workspace_(workspace_bytes_ > 0 ? Workspace(workspace_bytes_, nullptr) : Workspace()),
        bare_(bare) {}

  void launch(const GemmCall& call) const {
    if (!bare_) workspace_.poison(workspace_bytes_, nullptr);
    call_.launch(call, workspace_.data(), nullptr);
    GT_CUDA(cudaDeviceSynchronize());
  }

 private:
  static std::string compiled(const KnownConfig& config, const std::string& arch) {
    const KernelSource source = kernel_source(*config.family);
    CompileResult result = nvrtc_compile({source.path, source.text, source.headers},
                                         compile_definitions(config), arch);
    if (!result.ok) throw Error(to_string(config.config()) + ": " + result.log);
    return std::move(result.cubin);
  }

  LoadedKernels kernels_;
  PreparedCall call_;
  std::int64_t workspace_bytes_;
  Workspace workspace_;
  bool bare_;
};

// Prints a line for each kind of operands; whether all is as it should be.
bool judge(const Problem& problem, const KnownConfig& config, const DeviceSpec& device,
           Cublas& cublas, const Options& options) {
  if (const auto why = why_illegal(config.recipe, problem)) {
    throw UsageError(to_string(config.config()) + " and " + to_string(problem) + ": " + *why);
  }
  const Candidate candidate(config, problem, device, options.bare);
  const auto elements = [&](std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(rows * cols * problem.batch);
  };
  bool good = true;
  for (const bool spread : {false, true}) {
    const auto a = random_values(elements(problem.M, problem.K), spread, 1);
    const auto b = random_values(elements(problem.K, problem.N), spread, 2);
    const auto A = on_device<float>(a), B = on_device<float>(b);
    const auto A64 = on_device<double>(a), B64 = on_device<double>(b);
    DeviceBuffer<float> C(elements(problem.M, problem.N)), theirs(C.size());
    DeviceBuffer<double> C64(C.size());
    cublas.gemm(packed_call(problem, A64, B64, C64));
    cublas.gemm(packed_call(problem, A, B, theirs));
    std::vector<float> first;
    int different = 0;
    for (int run = 0; run < options.runs; ++run) {
      if (!options.bare) C.fill_bytes(0xff);
      candidate.launch(packed_call(problem, A, B, C));
      std::vector<float> result = on_host(C);
      if (run == 0) {
        first = std::move(result);
      } else if (std::memcmp(first.data(), result.data(), result.size() * sizeof(float)) != 0) {
        ++different;
      }
    }
    const std::vector<double> reference = on_host(C64);
    const double ours = relative_error(first, reference);
    const double cublas_error = relative_error(on_host(theirs), reference);
    const bool fine = ours <= kMostOverCublas * cublas_error && different == 0;
    std::printf(
        "%-8s %-28s %-8s ours %.3e  cublasSgemm %.3e  ratio %.3f  %d of %d runs differ  %s\n",
        fine ? "good" : "BAD", to_string(problem).c_str(), spread ? "spread" : "uniform", ours,
        cublas_error, ours / cublas_error, different, options.runs,
        to_string(config.config()).c_str());
    std::fflush(stdout);
    good = good && fine;
  }
  return good;
}

int run(const char* path, const Options& options) {
  const std::vector<ListedConfig> listed = listed_configs(path);
  check_driver();
  const DeviceSpec device = query_device(current_device());
  Cublas cublas;
  bool good = true;
  for (const auto& [problem, config] : listed) {
    good = judge(problem, config, device, cublas, options) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  gemm_tune::Options options;
  if (argc > 1 && std::strcmp(argv[argc - 1], "--bare") == 0) {
    options.bare = true;
    --argc;
  }
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: accuracy FILE [RUNS] [--bare]\n");
    return 2;
  }
  if (argc == 3) options.runs = std::max(1, std::atoi(argv[2]));
  return gemm_tune::exit_code_of("accuracy", [&] { return gemm_tune::run(argv[1], options); });
}
