// SPDX-License-Identifier: Apache-2.0
// Makes one call of gt_sgemm for each problem of a list, on a handle that refines: at first sight
// of a problem it times the likeliest kernels and cuBLAS and appends its answer to CHOICES.
//
//   refined_choices DATABASE SIZES CHOICES [--refine-ms 3000]
//
// SIZES: a text file of problems, of fp32, packed, a single product, in any layout. Each call has
// operands of its own. Prints for each the problem, a tab and the milliseconds from the call to its
// result. No kernel cache: the call compiles what it times. The first also opens NVRTC and cuBLAS.
// Needs a GPU. Exit codes: 0; 2 usage; 3 no GPU, no usable database, a call that failed.
// untuned_choice.py --refine-ms judges the answers.
#include <gemm_tune/gemm_tune.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "bench/program.h"
#include "bench/sgemm_ways.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/problem.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace gemm_tune {
namespace {

struct Options {
  std::string database, sizes, choices;
  double refine_ms = 3000;
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
  parse_or_exit(app, argc, argv);
  return o;
}

std::vector<Problem> read_problems(const std::string& file) {
  std::vector<Problem> problems;
  std::istringstream words(read_input_file(file, "size file"));
  for (std::string word; words >> word;) {
    const Problem p = parse_problem(word);
    if (p != packed_problem(p.M, p.N, p.K, p.layout)) {
      throw UsageError(word + ": gt_sgemm serves packed fp32 products without a batch, as in " +
                       to_string(packed_problem(p.M, p.N, p.K, p.layout)));
    }
    problems.push_back(p);
  }
  if (problems.empty()) throw UsageError("'" + file + "' holds no problem");
  return problems;
}

// Copies of a block that is random: random numbers for each element would take longer than calls.
DeviceBuffer<float> operand(std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> block(
      static_cast<std::size_t>(std::min<std::int64_t>(elements, std::int64_t{1} << 20)));
  for (float& x : block) x = std::uniform_real_distribution<float>(-1, 1)(random);
  DeviceBuffer<float> matrix(static_cast<std::size_t>(elements));
  for (std::size_t at = 0; at < matrix.size(); at += block.size()) {
    matrix.copy_from_host(std::span(block).first(std::min(block.size(), matrix.size() - at)), at);
  }
  return matrix;
}

double call_ms(gt_handle* handle, const Problem& p, const Stream& stream) {
  using Clock = std::chrono::steady_clock;
  const auto op = [](bool transposes) { return transposes ? GT_TRANSPOSE : GT_NO_TRANSPOSE; };
  const DeviceBuffer<float> A = operand(p.M * p.K, 1), B = operand(p.K * p.N, 2),
                            C(static_cast<std::size_t>(p.M * p.N));
  GT_CUDA(cudaDeviceSynchronize());
  const auto begin = Clock::now();
  check_status(gt_sgemm(handle, stream.get(), GT_ROW_MAJOR, op(transposes_a(p.layout)),
                        op(transposes_b(p.layout)), p.M, p.N, p.K, 1.0F, A.data(), row_length_a(p),
                        B.data(), row_length_b(p), 0.0F, C.data(), p.N));
  stream.synchronize();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int run(const Options& o, const std::vector<Problem>& problems) {
  gt_options options = GT_OPTIONS_INIT;
  options.database_path = o.database.c_str();
  options.refine_ms = o.refine_ms;
  options.refined_choices = o.choices.c_str();
  const OpenHandle handle(options);
  const Stream stream;
  for (const Problem& problem : problems) {
    fmt::print("{}\t{:.1f}\n", to_string(problem), call_ms(handle.get(), problem, stream));
    std::fflush(stdout);  // for who interrupts
  }
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  const Options options = parse(argc, argv);
  return exit_code_of("refined_choices", [&] {
    const std::vector<Problem> problems = read_problems(options.sizes);
    check_driver();
    return run(options, problems);
  });
}
