// SPDX-License-Identifier: Apache-2.0
// Makes one call of gt_sgemm for each problem of a list, on a handle that refines: at first sight
// of a problem it times the likeliest kernels, cuBLAS and cublasLt's first proposals, and appends
// its answer to CHOICES. Later calls are then timed in turn with cublasSgemm and the best of
// cublasLt's proposals, by the tuner's rules: the GPU's time, operands in L2.
//
//   refined_choices DATABASE SIZES CHOICES [--refine-ms 3000] [--seconds 540] [--require]
//
// SIZES: a text file of problems, of fp32, packed, a single product, in any layout;
// untuned_choice.py leaves its random ones in FOLDER/search.txt and its database in
// FOLDER/tuned.db. Each call has operands of its own. No kernel cache: the first call compiles what
// it times; that of the first problem also opens NVRTC and cuBLAS. Problems for which --seconds
// leave no time are left out, and said. Needs a GPU. Exit codes: 0; 1 with --require where the goal
// is missed: 0.98 of the speed of cublasSgemm and of cublasLt at each; 2 usage; 3 no GPU, no usable
// database, a call that failed.
#include <gemm_tune/gemm_tune.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/library/beside_libraries.h"
#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/problem/gemm_call.h"
#include "core/problem/problem.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_lt.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

constexpr double kGoal = 0.98;           // of the speed of either baseline
constexpr std::size_t kLtFinalists = 3;  // of cublasLt's proposals

struct Options {
  std::string database, sizes, choices;
  double refine_ms = 3000, seconds = 540;
  bool require = false;
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("First calls for untuned problems on a handle that refines.", "refined_choices");
  app.add_option("DATABASE", o.database, "Of tuned problems")->required()->check(CLI::ExistingFile);
  app.add_option("SIZES", o.sizes, "A file of problems")->required()->check(CLI::ExistingFile);
  app.add_option("CHOICES", o.choices,
                 "The file for the answers; missing, as an answer that is known is not timed again")
      ->required()
      ->check(CLI::NonexistentPath);
  app.add_option("--refine-ms", o.refine_ms, "How much longer a first call may take")
      ->check(CLI::Range(1.0, 600'000.0))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "For all problems")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  app.add_flag("--require", o.require, "Exit code 1 where the goal is missed");
  parse_or_exit(app, argc, argv);
  return o;
}

std::vector<Problem> problems_of(const Options& o) {
  std::vector<Problem> problems;
  std::istringstream words(read_input_file(o.sizes, "size file"));
  for (std::string word; words >> word;) problems.push_back(packed_fp32_problem(word));
  if (problems.empty()) throw UsageError("'" + o.sizes + "' holds no problem");
  return problems;
}

// Calls of one problem: by the handle, by cublasSgemm, by cublasLt.
class Calls {
 public:
  Calls(gt_handle* handle, const Problem& problem, const Stream& stream)
      : handle_(handle),
        problem_(problem),
        stream_(stream),
        a_(random_operand(problem.M * problem.K, ElementType::f32, 1)),
        b_(random_operand(problem.K * problem.N, ElementType::f32, 2)),
        d_(static_cast<std::size_t>(problem.M * problem.N * bytes_of(ElementType::f32))),
        call_(in_place(packed_call(problem), a_.data(), b_.data(), d_.data())) {}

  // From the first call to its result.
  double first_ms() const {
    using Clock = std::chrono::steady_clock;
    GT_CUDA(cudaDeviceSynchronize());
    const auto begin = Clock::now();
    by_handle();
    stream_.synchronize();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  TimesBesideLibraries times(LaunchTimer& timer, Cublas& cublas, const CublasLt& lt,
                             void* lt_workspace) const {
    return time_beside_libraries([&] { by_handle(); }, call_, cublas, lt, kLtFinalists, timer,
                                 stream_, lt_workspace);
  }

 private:
  void by_handle() const {
    const auto op = [](bool transposes) { return transposes ? GT_TRANSPOSE : GT_NO_TRANSPOSE; };
    const Problem& p = problem_;
    check_status(gt_sgemm(handle_, stream_.get(), GT_ROW_MAJOR, op(transposes_a(p.layout)),
                          op(transposes_b(p.layout)), p.M, p.N, p.K, 1.0F,
                          static_cast<const float*>(call_.A), call_.lda,
                          static_cast<const float*>(call_.B), call_.ldb, 0.0F,
                          static_cast<float*>(call_.D), call_.ldc));
  }

  gt_handle* handle_;
  Problem problem_;
  const Stream& stream_;
  DeviceBuffer<char> a_, b_, d_;
  GemmCall call_;
};

// The last answer for the problem in the file, if there is one.
std::string answer_in(const std::string& file, const std::string& problem) {
  std::ifstream in(file);
  std::string answer = "-";
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find("\t" + problem + "\t");
    if (at != std::string::npos) answer = line.substr(at + problem.size() + 2);
  }
  return answer.substr(0, answer.find(' '));  // behind it: cublasLt's version
}

// Prints how the speeds stand to the goal; whether all reach it.
bool report_speed(const std::string& baseline, std::vector<double> speeds) {
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const auto below =
      std::count_if(speeds.begin(), speeds.end(), [](double x) { return x < kGoal; });
  fmt::print("over {}: mean {:.3f}, worst {:.3f}, {} of {} below {}; goal {} at each: {}\n",
             baseline, total / static_cast<double>(speeds.size()),
             *std::min_element(speeds.begin(), speeds.end()), below, speeds.size(), kGoal, kGoal,
             below == 0 ? "met" : "MISSED");
  return below == 0;
}

int run(const Options& o, const std::vector<Problem>& problems, const std::string& description) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = o.database.c_str();
  options.refine_ms = o.refine_ms;
  options.refined_choices = o.choices.c_str();
  const OpenHandle handle(options);
  const Stream stream;
  const Nvml nvml(current_device());
  LaunchTimer timer(stream, nvml);
  Cublas cublas;
  cublas.set_stream(stream.get());
  const CublasLt lt;
  DeviceBuffer<char> lt_workspace(CublasLt::kWorkspaceBytes);
  fmt::print(
      "{}| problem | first call ms | us | over cublasSgemm | over cublasLt | answer |\n"
      "|---|---|---|---|---|---|\n",
      description);
  std::vector<double> first_ms, over_cublas, over_lt;
  for (const Problem& problem : problems) {
    if (Clock::now() >= end) break;
    const Calls calls(handle.get(), problem, stream);
    first_ms.push_back(calls.first_ms());
    const TimesBesideLibraries times = calls.times(timer, cublas, lt, lt_workspace.data());
    over_cublas.push_back(times.cublas_us / times.served_us);
    over_lt.push_back(times.lt_us / times.served_us);
    fmt::print("| {} | {:.0f} | {:.5g} | {:.3f} | {:.3f} | {} |\n", to_string(problem),
               first_ms.back(), times.served_us, over_cublas.back(), over_lt.back(),
               answer_in(o.choices, to_string(problem)));
    std::fflush(stdout);  // for who interrupts
  }
  if (first_ms.empty()) throw Error("--seconds were over before the first problem: name more");
  if (first_ms.size() < problems.size()) {
    fmt::print("\n{} of {} problems were left out: --seconds were over",
               problems.size() - first_ms.size(), problems.size());
  }
  fmt::print("\nlongest first call: {:.0f} ms\n",
             *std::max_element(first_ms.begin(), first_ms.end()));
  const bool meets_cublas = report_speed("cublasSgemm", over_cublas);
  const bool meets_lt = report_speed("cublasLt", over_lt);
  return o.require && !(meets_cublas && meets_lt) ? 1 : 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("refined_choices", argc, argv, parse, problems_of, run);
}
