// SPDX-License-Identifier: Apache-2.0
// The drop-in's report as problems: which a program multiplied, how often, and who did it.
//
// Values; no thread rule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"

namespace gemm_tune {

struct CalledProblem {
  std::string function;            // "cublasSgemm"
  std::optional<Problem> problem;  // row-major; nothing for types that gemm-tune has no kernels
                                   // for, and for sizes of 0
  std::string text;                // the problem's, else the sizes as called
  double flops = 0;                // of one call
  std::int64_t served = 0;
  std::map<std::string, std::int64_t> declined;  // by reason
  std::int64_t tunable = 0;      // of the declined, those that may be served once it is tuned
  std::optional<double> gpu_us;  // of one call, the mean of those that were timed
  // What the database expects of one call: the winner's time and cuBLAS's.
  std::optional<double> expected_us, cublas_us;

  std::int64_t calls() const;
};

// What a call of each problem costs, in an unknown unit: its GPU time; where it was not measured,
// its operations at the mean speed of the measured problems.
std::vector<double> costs_of_calls(const std::vector<CalledProblem>& problems);

// A product as cuBLAS is asked for it: column-major.
struct CublasProduct {
  std::optional<Signature> types;  // nothing for those that gemm-tune does not know
  bool transposes_a = false, transposes_b = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  BatchKind batch_kind = BatchKind::strided;
};

// The same product in row-major terms, the operands, M and N swapped, with packed matrices. Nothing
// where no kernel can have it.
std::optional<Problem> problem_of(const CublasProduct& product);

struct CalledProblems {
  std::vector<CalledProblem> problems;
  std::vector<std::string> errors;  // a sentence for each process in which something failed
  std::string text;                 // of the file
  std::map<std::string, std::int64_t> left_out;  // of a log: calls without a kernel, by their kind
};

// A file that does not exist is a report without calls. Throws UsageError where it is no report.
CalledProblems read_called_problems(const std::filesystem::path& report);

// name: of the file, for the message.
CalledProblems parse_called_problems(std::string text, const std::string& name);

}  // namespace gemm_tune
