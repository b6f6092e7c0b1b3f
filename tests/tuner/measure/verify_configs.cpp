// SPDX-License-Identifier: Apache-2.0
// Verifies configs in this process, as the tuner's workers do before they time one: for
// compute-sanitizer, and for results that repeat.
//
// usage: verify_configs FILE [REPEATS]; a line of FILE: PROBLEM CONFIG, or a comment (#), as in
//   265x347x203:type=bf16 wgmma/AB=2,...
// Each config is checked at the small shapes of its kind and at the problem, then launched twice
// REPEATS times (default: 1) on the same operands, which must give the same bits. Needs a GPU.
// Exit codes: 0; 1 if a config is wrong or does not repeat; 2 usage; 3 no GPU.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "bench/program.h"
#include "core/error.h"
#include "gpu/device.h"
#include "gpu/error.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/source/source.h"
#include "runtime/compile.h"
#include "runtime/prepared_call.h"
#include "tests/runtime/listed_configs.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

// What is wrong with the config, or nothing.
std::optional<std::string> fault_of(const KnownConfig& config, const Problem& problem,
                                    const DeviceSpec& device, int repeats) {
  if (const auto why = why_illegal(config.recipe, problem)) {
    throw UsageError(to_string(config.config()) + " and " + to_string(problem) + ": " + *why);
  }
  const CompileResult compiled =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, device.arch);
  if (!compiled.ok) return compiled.log;
  const LoadedKernels kernels(compiled.cubin);
  const Stream stream;
  const Gemm gemm = [&](const GemmCall& call) {
    const LaunchPlan plan = config.plan(call.problem, device.sm_count);
    // What a plan does not want zeroed stays as allocated, for compute-sanitizer's initcheck.
    const DeviceBuffer<char> workspace(static_cast<std::size_t>(plan.workspace_bytes));
    GT_CUDA(cudaMemsetAsync(workspace.data(), 0, static_cast<std::size_t>(plan.zeroed_bytes),
                            stream.get()));
    PreparedCall(kernels, plan).launch(call, workspace.data(), stream.get());
    stream.synchronize();
  };
  Verifier verifier(device, stream.get(), /*seed=*/7);
  std::vector<GemmCall> shapes = small_verification_shapes(config, device.sm_count);
  shapes.push_back(shape_of(problem));
  for (const GemmCall& shape : shapes) {
    if (auto fault = verifier.check(gemm, shape)) return to_string(shape.problem) + ": " + *fault;
  }
  for (int i = 0; i < repeats; ++i) {
    if (auto fault = verifier.check_repeats(gemm, shapes.back())) return fault;
  }
  return std::nullopt;
}

int run(const char* path, int repeats) {
  const std::vector<ListedConfig> listed = listed_configs(path);
  check_driver();
  set_device(0);
  const DeviceSpec device = query_device(0);
  bool good = true;
  for (const auto& [problem, config] : listed) {
    const auto fault = fault_of(config, problem, device, repeats);
    std::printf("%s %s %s%s\n", fault ? "BAD " : "good", to_string(problem).c_str(),
                to_string(config.config()).c_str(), fault ? (": " + *fault).c_str() : "");
    std::fflush(stdout);
    good = good && !fault;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: verify_configs FILE [REPEATS]\n");
    return 2;
  }
  return gemm_tune::exit_code_of("verify_configs", [&] {
    return gemm_tune::run(argv[1], argc == 3 ? std::atoi(argv[2]) : 1);
  });
}
