// SPDX-License-Identifier: Apache-2.0
// Measures what a call costs on the host: gt_sgemm and gt_gemm beside a bare launch of the very
// same kernel (cudaLaunchKernelExC on the same cubin with the same arguments), cublasSgemm,
// cublasGemmEx, and a launch of the same by the driver's cuLaunchKernel, as the library has it.
//
//   host_cost DATABASE [--size 256x256x256] [--threads 1,8] [--seconds 20] [--require] ...
//
// In each round every way makes --calls calls in a row, in an idle stream, so that no call waits
// for room in the stream's queue; the ways take turns. With several threads each has a stream of
// its own, and all go through the same way at once. Before, the bare launch must give gt_sgemm's
// bits, and cuBLAS the same within fp32's error. Prints the time of one call (10th percentile,
// median, 90th percentile over the rounds) and its ratio to the bare launch's, the median over the
// rounds. Needs a GPU. Exit codes: 0; 1 with --require where the goal is missed; 2 usage; 3 no GPU,
// no cuBLAS, no usable database.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/library/rounds.h"
#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/error.h"
#include "gpu/device.h"
#include "gpu/launch/kernel.h"
#include "kernel_templates/product_plan.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/jit.h"
#include "runtime/workspace.h"

namespace gemm_tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoal = 1.10;  // of gt_sgemm over the bare launch, from one thread
constexpr const char* kWays[] = {"bare launch", "gt_sgemm",     "gt_gemm",
                                 "cublasSgemm", "cublasGemmEx", "cuLaunchKernel"};
constexpr std::size_t kCount = std::size(kWays), kBare = 0, kSgemm = 1;
constexpr std::size_t kFewestRounds = 31;

struct Options : TimingOptions {
  std::string size = "256x256x256";
  std::vector<int> threads = {1, 8};
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("What a call costs on the host, beside a bare launch and cuBLAS.", "host_cost");
  add_timing_options(app, o, 500);
  app.add_option("--size", o.size, "The problem, as in 256x256x256");
  app.add_option("--threads", o.threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  parse_or_exit(app, argc, argv);
  return o;
}

Problem timed_problem(const Options& o) {
  const Problem problem = parse_problem(o.size);
  if (problem != packed_problem(problem.M, problem.N, problem.K)) {
    throw UsageError("--size " + o.size + ": give M, N and K alone, as in 256x256x256");
  }
  return problem;
}

// The library's kernel without the library.
class BareLaunch {
 public:
  BareLaunch(const std::string& cubin, const LaunchPlan& plan, const GemmCall& call,
             const Stream& stream)
      : kernel_(cubin),
        workspace_(plan.workspace_bytes, stream.get()),
        grid_(plan.product().grid),
        args_(product_argument(plan, call, workspace_.data())) {
    launch_.gridDim = dim3(static_cast<unsigned>(grid_.x), static_cast<unsigned>(grid_.y),
                           static_cast<unsigned>(grid_.z));
    launch_.blockDim = dim3(static_cast<unsigned>(plan.product().threads));
    launch_.dynamicSmemBytes = static_cast<std::size_t>(plan.product().smem_bytes);
    launch_.stream = stream.get();
  }

  void operator()() {
    void* parameters[] = {&args_};
    GT_CUDA(cudaLaunchKernelExC(&launch_, static_cast<const void*>(kernel_.get()), parameters));
  }

  void by_the_driver() {
    void* parameters[] = {&args_};
    kernel_.launch(grid_, static_cast<int>(launch_.blockDim.x),
                   static_cast<int>(launch_.dynamicSmemBytes), launch_.stream, parameters);
  }

 private:
  LoadedKernel kernel_;
  Workspace workspace_;
  Grid grid_;
  GemmArgs args_;
  cudaLaunchConfig_t launch_{};
};

struct Kernel {
  LaunchPlan plan;
  std::string cubin;
};

// What gt_sgemm launches.
Kernel kernel_of(const gt_recipe& answer, const DeviceSpec& device, const GemmCall& call) {
  if (answer.config[0] == '\0') {
    throw Error("the library launches no kernel of its own: gt_lookup answers " +
                std::string(gt_match_string(answer.match)));
  }
  const KnownConfig config = check_config(parse_config(answer.config));
  if (!config.is_exportable()) {
    throw Error(std::string(answer.config) +
                " takes more than a launch with GemmArgs: choose a --size whose winner takes one");
  }
  return {config.plan(call.problem, device.sm_count),
          jit_cubin(config, form_of(call), device.arch, nullptr)};
}

// All ways of one thread.
class Caller {
 public:
  Caller(gt_handle* handle, const Kernel& kernel, const Problem& problem)
      : ways_(handle, stream_, problem), bare_(kernel.cubin, kernel.plan, ways_.call(), stream_) {
    check(problem.K);
  }

  // Microseconds of one of so many calls in a row.
  double time_us(std::size_t way, int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call(way);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    stream_.synchronize();
    return took.count() / calls;
  }

 private:
  void call(std::size_t way) {
    switch (way) {
      case 0:
        return bare_();
      case 1:
        return ways_.gt_sgemm();
      case 2:
        return ways_.gt_gemm();
      case 3:
        return ways_.cublas_sgemm();
      case 4:
        return ways_.cublas_gemm_ex();
      default:
        return bare_.by_the_driver();
    }
  }

  void check(std::int64_t K) {
    const std::vector<float> want = ways_.result_of([&] { call(kSgemm); });
    for (std::size_t way = 0; way < kCount; ++way) {
      const std::vector<float> result = ways_.result_of([&] { call(way); });
      check_close(result, want, K, kWays[way]);
      if (way == kBare && result != want) throw Error("the bare launch gives other bits");
    }
  }

  Stream stream_;
  SgemmWays ways_;
  BareLaunch bare_;
};

// The rounds of all threads together, for so many seconds.
Rounds measure(const std::vector<std::unique_ptr<Caller>>& callers, int calls, double seconds) {
  Rounds rounds(kCount);
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<bool> go = true;
  std::barrier together(static_cast<std::ptrdiff_t>(callers.size()));
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const auto take_round = [&](Caller& caller, std::size_t round) {
    std::vector<double> times(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t way = Rounds::turn(i, round, kCount);
      together.arrive_and_wait();
      try {
        times[way] = caller.time_us(way, calls);
      } catch (...) {  // the others wait for this thread: it goes on until all stop
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex);
    rounds.add(times);
  };
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < callers.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t round = 0; go; ++round) {
        take_round(*callers[thread], round);
        together.arrive_and_wait();
        if (thread == 0) go = !failure && (Clock::now() < end || round + 1 < kFewestRounds);
        together.arrive_and_wait();
      }
    });
  }
  threads.clear();
  if (failure) std::rethrow_exception(failure);
  return rounds;
}

void print_rows(int threads, const Rounds& rounds) {
  for (std::size_t way = 0; way < kCount; ++way) {
    fmt::print("{:>7}  {:<14} {:>8} {:>10.3f} {:>10.3f} {:>10.3f} {:>9.3f}\n", threads, kWays[way],
               rounds.count(), rounds.quantile(way, 0.1), rounds.quantile(way, 0.5),
               rounds.quantile(way, 0.9), rounds.ratio(way, kBare));
  }
  std::fflush(stdout);
}

int run(const Options& o, const Problem& problem, const std::string& description) {
  const OpenHandle handle(o.database, o.cache);
  const DeviceSpec device = query_device(current_device());
  const Stream stream;
  const SgemmWays first(handle.get(), stream, problem);
  const gt_recipe recipe = first.recipe();
  const Kernel kernel = kernel_of(recipe, device, first.call());
  fmt::print("{}{}: {} ({})\n\n", description, to_string(problem), recipe.config,
             gt_match_string(recipe.match));
  fmt::print("{:>7}  {:<14} {:>8} {:>10} {:>10} {:>10} {:>9}\n", "threads", "call", "rounds",
             "p10 us", "median us", "p90 us", "over bare");
  double ratio = 0;
  for (const int threads : o.threads) {
    std::vector<std::unique_ptr<Caller>> callers;
    for (int i = 0; i < threads; ++i) {
      callers.push_back(std::make_unique<Caller>(handle.get(), kernel, problem));
    }
    const Rounds rounds =
        measure(callers, o.calls, o.seconds / static_cast<double>(o.threads.size()));
    print_rows(threads, rounds);
    if (threads == o.threads.front()) ratio = rounds.ratio(kSgemm, kBare);
  }
  const bool met = ratio <= kGoal;
  fmt::print("\ngt_sgemm over the bare launch, {} thread(s): {:.3f}, goal at most {:.2f}: {}\n",
             o.threads.front(), ratio, kGoal, met ? "met" : "MISSED");
  return o.require && !met ? 1 : 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("host_cost", argc, argv, parse, timed_problem, run);
}
