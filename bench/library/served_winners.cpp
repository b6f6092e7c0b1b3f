// SPDX-License-Identifier: Apache-2.0
// Times what a handle serves for tuned problems, in turn with cuBLAS's own choice and with the best
// of 100 algorithms of cublasLt, by the tuner's rules: the GPU's time, operands in L2 where they
// fit, random normal elements, every other round in reverse.
//
//   served_winners DATABASE PROBLEM... [--require]
//
// PROBLEM: as in 16x4096x4096:type=bf16:layout=nt, packed. bench/library/served_winners.sh tunes
// the problems first. Needs a GPU. Exit codes: 0; 1 with --require where a call took more than 1 /
// 0.98 of the better of the two; 2 usage; 3 no GPU, no usable database, a call that failed.
#include <gemm_tune/gemm_tune.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/library/beside_libraries.h"
#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/error.h"
#include "core/problem/gemm_call.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

constexpr double kGoal = 0.98;           // of the speed of the better one
constexpr std::size_t kLtFinalists = 5;  // of cublasLt's algorithms

class Bench {
 public:
  explicit Bench(const gt_options& options)
      : handle_(options), nvml_(current_device()), timer_(stream_, nvml_) {
    cublas_.set_stream(stream_.get());
  }

  // The config that serves, as a look-up tells.
  std::string config(const Problem& problem) const {
    const gt_gemm_call call = c_call(packed_call(problem));
    gt_recipe recipe{};
    check_status(gt_lookup(handle_.get(), nullptr, &call, &recipe));
    return recipe.config;
  }

  TimesBesideLibraries times(const Problem& problem) {
    const Signature& types = problem.signature;
    const DeviceBuffer<char> a = random_operand(problem.batch * problem.M * problem.K, types.a, 1),
                             b = random_operand(problem.batch * problem.K * problem.N, types.b, 2);
    DeviceBuffer<char> d(
        static_cast<std::size_t>(problem.batch * problem.M * problem.N * bytes_of(types.d)));
    const GemmCall call = in_place(packed_call(problem), a.data(), b.data(), d.data());
    const gt_gemm_call served = c_call(call);
    return time_beside_libraries(
        [&] { check_status(gt_gemm(handle_.get(), stream_.get(), &served)); }, call, cublas_, lt_,
        kLtFinalists, timer_, stream_, lt_workspace_.data());
  }

 private:
  const OpenHandle handle_;
  const Stream stream_;
  const Nvml nvml_;
  LaunchTimer timer_;
  Cublas cublas_;
  const CublasLt lt_;
  const DeviceBuffer<char> lt_workspace_{CublasLt::kWorkspaceBytes};
};

struct Options : ProblemOptions {
  bool require = false;
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("What a handle serves beside cuBLAS and cublasLt.", "served_winners");
  add_problem_options(app, o, "As in 128x4096x4096:type=bf16");
  app.add_flag("--require", o.require, "Exit code 1 where the goal is missed");
  parse_or_exit(app, argc, argv);
  return o;
}

int run(const Options& o, const std::vector<Problem>& problems, const std::string& description) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = o.database.c_str();
  Bench bench(options);
  fmt::print(
      "{}| problem | served us | cuBLAS us | cublasLt us | over the better | config |\n"
      "|---|---|---|---|---|---|\n",
      description);
  double worst = 1e9;
  for (const Problem& problem : problems) {
    const TimesBesideLibraries times = bench.times(problem);
    const double speed = times.better_us() / times.served_us;
    worst = std::min(worst, speed);
    fmt::print("| {} | {:.5g} | {:.5g} | {:.5g} | {:.3f} | {} |\n", to_string(problem),
               times.served_us, times.cublas_us, times.lt_us, speed, bench.config(problem));
    std::fflush(stdout);  // for who interrupts
  }
  fmt::print("\nworst {:.3f}, goal {} at each: {}\n", worst, kGoal,
             worst >= kGoal ? "met" : "MISSED");
  return o.require && worst < kGoal ? 1 : 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("served_winners", argc, argv, parse, named_problems, run);
}
