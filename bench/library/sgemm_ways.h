// SPDX-License-Identifier: Apache-2.0
// One packed row-major fp32 product and the calls that compute it: the library's and cuBLAS's, each
// as an application makes it. For programs that time them on the host.
//
// Use an object from one thread; it belongs to the device that was current when it was made.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <string>
#include <vector>

#include "bench/program.h"
#include "core/problem/gemm_call.h"
#include "core/types/accuracy.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"

namespace gemm_tune {

// Throws Error with the library's sentence.
void check_status(gt_status status);

// A handle that closes itself. Without options, kernels alone serve. cache: a folder of compiled
// kernels, or empty.
class OpenHandle {
 public:
  OpenHandle(const std::string& database, const std::string& cache);
  explicit OpenHandle(const gt_options& options);
  ~OpenHandle() { gt_close(handle_); }
  OpenHandle(const OpenHandle&) = delete;
  OpenHandle& operator=(const OpenHandle&) = delete;

  gt_handle* get() const { return handle_; }

 private:
  gt_handle* handle_ = nullptr;
};

// The call as the C interface takes it: alpha 1, beta 0, the accuracy class of its types.
gt_gemm_call c_call(const GemmCall& call);

// The same in another accuracy class.
gt_gemm_call c_call(const GemmCall& call, Accuracy accuracy);

// cublasSgemm and cublasGemmEx as an application calls them: gpu/cuda_libraries/cublas.h sets the
// math mode and checks sizes at each call.
class DirectCublas {
 public:
  // On a stream that outlives it. Throws DeviceError without cuBLAS.
  explicit DirectCublas(const Stream& stream);
  ~DirectCublas();
  DirectCublas(const DirectCublas&) = delete;
  DirectCublas& operator=(const DirectCublas&) = delete;

  // Row-major C = A * B; alpha 1, beta 0. Throw DeviceError.
  void sgemm(const Problem& problem, const float* A, const float* B, float* C) const;
  void gemm_ex(const Problem& problem, const float* A, const float* B, float* C) const;

 private:
  struct Functions;
  static const Functions& functions();

  void* handle_ = nullptr;
};

class SgemmWays {
 public:
  // A and B: uniform random numbers. Everything must outlive it.
  SgemmWays(gt_handle* handle, const Stream& stream, const Problem& problem);

  // Each enqueues C = A * B.
  void gt_sgemm() const;
  void gt_gemm() const;
  void cublas_sgemm() const { cublas_.sgemm(problem_, a_.data(), b_.data(), c_.data()); }
  void cublas_gemm_ex() const { cublas_.gemm_ex(problem_, a_.data(), b_.data(), c_.data()); }

  // What the library launches for gt_sgemm() and gt_gemm().
  gt_recipe recipe() const;

  // The same call for a kernel of one's own.
  GemmCall call() const;

  // C after `enqueue` alone, which must write all of it.
  template <class Enqueue>
  std::vector<float> result_of(const Enqueue& enqueue) {
    c_.fill_bytes(0xff, stream_.get());
    enqueue();
    stream_.synchronize();
    std::vector<float> result(c_.size());
    c_.copy_to_host(result);
    return result;
  }

 private:
  gt_gemm_call gemm_call() const;

  gt_handle* handle_;
  const Stream& stream_;
  Problem problem_;
  DirectCublas cublas_;
  DeviceBuffer<float> a_, b_, c_;
};

// Throws Error where an element of `result` differs from that of `other` by more than fp32 sums of
// length K may. way: the name of what gave the result.
void check_close(const std::vector<float>& result, const std::vector<float>& other, std::int64_t K,
                 const std::string& way);

// GPU, driver, versions and the command, as the first lines of a report.
std::string run_description(int argc, char** argv);

// What a program is asked to time.
struct ProblemOptions {
  std::string database;
  std::vector<std::string> problems;
};

inline void add_problem_options(CLI::App& app, ProblemOptions& o, const char* example) {
  app.add_option("DATABASE", o.database, "Of tuned problems")->required()->check(CLI::ExistingFile);
  app.add_option("PROBLEM", o.problems, example)->required();
}

// Throws UsageError, which names `text`, for what is no single packed fp32 product.
Problem packed_fp32_problem(const std::string& text);

inline std::vector<Problem> named_problems(const ProblemOptions& o) {
  std::vector<Problem> problems;
  for (const std::string& text : o.problems) problems.push_back(parse_problem(text));
  return problems;
}

// main() of a program that times calls: its exit code. problems_of(options): what is to be timed,
// or a UsageError, which comes before that of a missing GPU.
template <class Options, class ProblemsOf, class Run>
int run_on_gpu(const char* program, int argc, char** argv, Options (*parse)(int, char**),
               const ProblemsOf& problems_of, const Run& run) {
  const Options options = parse(argc, argv);
  return exit_code_of(program, [&] {
    const auto problems = problems_of(options);
    check_driver();
    return run(options, problems, run_description(argc, argv));
  });
}

}  // namespace gemm_tune
