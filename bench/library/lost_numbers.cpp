// SPDX-License-Identifier: Apache-2.0
// Operands whose numbers two f16 parts do not hold: how many rows of A and columns of B lose some
// (docs/verification.md), whether fp32_f16x3 serves the product by its parts, by fp32 on such lines
// or by fp32 everywhere, what that costs, and how far results lie from the exact ones.
//
//   lost_numbers DATABASE PROBLEM...
//
// PROBLEM: as in 4096x4096x4096, packed, a single product, without a type. Each kind of data below
// is drawn for A and for B. The call is timed in turn with the same one on normal data, with the
// library's plain fp32 one and with cublasSgemm, by the tuner's rules. Errors are the largest of
// 4,096 elements and of 64 on each of a few lines that lose numbers, over fp32's bound at each, and
// of cublasSgemm. "sums in order": the share of these elements whose bits are those of the sum in
// fp32 along K in order, which fp32 everywhere makes. Needs a GPU. Exit codes: 0; 1 where an
// element exceeds the larger bound of fp32 and of the class; 2 usage; 3 no GPU, no usable database,
// a call that failed.
#include <gemm_tune/gemm_tune.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/problem/gemm_call.h"
#include "core/types/error_bound.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "kernel_templates/device/parts/split_shape.cuh"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

constexpr std::int64_t kSamples = 4096, kSamplesOfLine = 64;
constexpr std::size_t kSampledLines = 16;  // that lose numbers, of each operand

// An element of a stored rows x cols matrix.
struct Place {
  std::int64_t rows, cols, row, col;
};

struct Data {
  const char* name;
  double (*element)(const Place& place, std::mt19937& random);
};

double normal(std::mt19937& random) { return std::normal_distribution<double>()(random); }

double uniform(std::mt19937& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

// 2^-20 to 2^20, the exponents of lines evenly distributed.
double scale_of_line(std::int64_t line) {
  const double turns = static_cast<double>(line) * 0.6180339887498949;
  return std::exp2(40 * (turns - std::floor(turns)) - 20);
}

double with_one(double huge, const Place& at, std::mt19937& random) {
  return at.row == at.rows / 3 && at.col == at.cols / 5 ? huge : normal(random);
}

// Upper triangular, of the angle 1.2 (N. J. Higham, Accuracy and Stability of Numerical Algorithms,
// section 8.3): row i is sin^i, times 1 on the diagonal and -cos right of it.
double kahan(const Place& at) {
  if (at.col < at.row) return 0;
  const double scale = std::pow(std::sin(1.2), static_cast<double>(at.row));
  return at.col == at.row ? scale : -std::cos(1.2) * scale;
}

constexpr Data kNormal = {"normal",
                          [](const Place&, std::mt19937& random) { return normal(random); }};
const Data kData[] = {
    {"uniform in [-1, 1]",
     [](const Place&, std::mt19937& random) { return uniform(random, -1, 1); }},
    kNormal,
    {"lognormal, sigma 4",
     [](const Place&, std::mt19937& random) { return std::exp(4 * normal(random)); }},
    {"lognormal, sigma 8",
     [](const Place&, std::mt19937& random) { return std::exp(8 * normal(random)); }},
    {"normal, rows by 2^-20 to 2^20",
     [](const Place& at, std::mt19937& random) { return normal(random) * scale_of_line(at.row); }},
    {"normal, columns by 2^-20 to 2^20",
     [](const Place& at, std::mt19937& random) { return normal(random) * scale_of_line(at.col); }},
    {"normal, elements by 2^-20 to 2^20",
     [](const Place&, std::mt19937& random) {
       return normal(random) * std::exp2(uniform(random, -20, 20));
     }},
    {"normal, one element 2^20",
     [](const Place& at, std::mt19937& random) { return with_one(0x1p20, at, random); }},
    {"normal, one element 2^60",
     [](const Place& at, std::mt19937& random) { return with_one(0x1p60, at, random); }},
    {"Hilbert",
     [](const Place& at, std::mt19937&) { return 1 / static_cast<double>(at.row + at.col + 1); }},
    {"Kahan, angle 1.2", [](const Place& at, std::mt19937&) { return kahan(at); }},
    {"normal, graded from 1 to 2^-48",
     [](const Place& at, std::mt19937& random) {
       const auto place = static_cast<double>(at.row + at.col);
       return normal(random) * std::exp2(-48 * place / static_cast<double>(at.rows + at.cols));
     }},
};

// A stored rows x cols matrix, in host and device memory.
class Operand {
 public:
  Operand(std::int64_t rows, std::int64_t cols, const Data& data, std::mt19937& random)
      : rows_(rows),
        cols_(cols),
        elements_(static_cast<std::size_t>(rows * cols)),
        on_device_(elements_.size()) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        elements_[static_cast<std::size_t>(row * cols + col)] =
            static_cast<float>(data.element({rows, cols, row, col}, random));
      }
    }
    on_device_.copy_from_host(std::span<const float>(elements_));
  }

  const float* on_device() const { return on_device_.data(); }

  // Element k of a line: of a stored row, or of a stored column.
  float at(bool along_rows, std::int64_t line, std::int64_t k) const {
    return elements_[static_cast<std::size_t>(along_rows ? line * cols_ + k : k * cols_ + line)];
  }

  // Its lines that hold numbers that two parts lose.
  std::vector<std::int64_t> losing_lines(bool along_rows) const {
    const std::int64_t lines = along_rows ? rows_ : cols_, K = along_rows ? cols_ : rows_;
    std::vector<std::int64_t> losing;
    for (std::int64_t line = 0; line < lines; ++line) {
      float largest = 0;
      for (std::int64_t k = 0; k < K; ++k) {
        largest = std::max(largest, std::fabs(at(along_rows, line, k)));
      }
      int exponent = 0;
      std::frexp(largest, &exponent);
      const int scale = std::min(parts::kLargestExponent + 1 - exponent, parts::kMostScale);
      bool loses = false;
      for (std::int64_t k = 0; k < K && !loses; ++k) {
        const double x = std::ldexp(double{at(along_rows, line, k)}, scale);
        const double steps = std::ldexp(x, 24);  // of f16 near zero
        loses = std::fabs(x) < parts::kLeastScaled && steps != std::floor(steps);
      }
      if (loses) losing.push_back(line);
    }
    return losing;
  }

 private:
  std::int64_t rows_, cols_;
  std::vector<float> elements_;
  DeviceBuffer<float> on_device_;
};

struct Judgement {
  double error = 0;     // the largest over fp32's bound at the element
  double in_order = 0;  // share of elements that are fp32's sums in order
};

// A product of one kind of data.
class Product {
 public:
  Product(const Problem& problem, const Data& data, unsigned seed)
      : random_(seed),
        ta_(transposes_a(problem.layout)),
        tb_(transposes_b(problem.layout)),
        a_(ta_ ? problem.K : problem.M, ta_ ? problem.M : problem.K, data, random_),
        b_(tb_ ? problem.N : problem.K, tb_ ? problem.K : problem.N, data, random_),
        d_(static_cast<std::size_t>(problem.M * problem.N)),
        call_(in_place(packed_call(problem), a_.on_device(), b_.on_device(), d_.data())),
        losing_rows_(a_.losing_lines(!ta_)),
        losing_cols_(b_.losing_lines(tb_)),
        samples_(samples()) {}

  const GemmCall& call() const { return call_; }
  const std::vector<std::int64_t>& losing_rows() const { return losing_rows_; }
  const std::vector<std::int64_t>& losing_cols() const { return losing_cols_; }

  template <class Run>
  Judgement judge(const ErrorBound& bound, const Stream& stream, const Run& run) {
    d_.fill_bytes(0xff, stream.get());
    run();
    stream.synchronize();
    std::vector<float> d(d_.size());
    d_.copy_to_host(d);
    Judgement judgement;
    for (const auto& [row, col] : samples_) {
      const float is = d[static_cast<std::size_t>(row * call_.problem.N + col)];
      const Sum sum = sum_at(row, col);
      const double allowed = bound.at(std::fabs(sum.exact), sum.magnitude);
      const double off = std::fabs(is - sum.exact);
      // Not comparable where it is no number.
      judgement.error =
          std::max(judgement.error,
                   off <= allowed * 1e6 ? off / allowed : std::numeric_limits<double>::infinity());
      judgement.in_order += is == sum.in_order ? 1.0 / static_cast<double>(samples_.size()) : 0.0;
    }
    return judgement;
  }

 private:
  struct Sum {
    double exact = 0, magnitude = 0;
    float in_order = 0;
  };
  Sum sum_at(std::int64_t row, std::int64_t col) const {
    Sum sum;
    for (std::int64_t k = 0; k < call_.problem.K; ++k) {
      const float x = a_.at(!ta_, row, k), y = b_.at(tb_, col, k);
      sum.exact += double{x} * y;
      sum.magnitude += std::fabs(double{x} * y);
      sum.in_order = std::fma(x, y, sum.in_order);
    }
    return sum;
  }

  // Rows and columns of D.
  std::vector<std::pair<std::int64_t, std::int64_t>> samples() const {
    const std::int64_t M = call_.problem.M, N = call_.problem.N;
    std::vector<std::pair<std::int64_t, std::int64_t>> samples;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const std::int64_t at = i * 7919 * 104729 % (M * N);
      samples.emplace_back(at / N, at % N);
    }
    for (std::int64_t i = 0; i < kSamplesOfLine; ++i) {
      for (const std::int64_t row : first(losing_rows_)) samples.emplace_back(row, i * 7919 % N);
      for (const std::int64_t col : first(losing_cols_)) samples.emplace_back(i * 7919 % M, col);
    }
    return samples;
  }
  static std::span<const std::int64_t> first(const std::vector<std::int64_t>& lines) {
    return std::span(lines).first(std::min(lines.size(), kSampledLines));
  }

  std::mt19937 random_;
  const bool ta_, tb_;
  const Operand a_, b_;
  DeviceBuffer<float> d_;
  const GemmCall call_;
  const std::vector<std::int64_t> losing_rows_, losing_cols_;
  const std::vector<std::pair<std::int64_t, std::int64_t>> samples_;
};

class Bench {
 public:
  explicit Bench(const std::string& database)
      : handle_(database, ""), nvml_(current_device()), timer_(stream_, nvml_) {
    cublas_.set_stream(stream_.get());
  }

  // Whether every element is within its bound.
  bool print(const Problem& problem) {
    bool is_within = true;
    unsigned seed = 1;
    Product beside(problem, kNormal, seed);
    for (const Data& data : kData) {
      Product product(problem, data, ++seed);
      is_within &= print(data.name, product, beside);
    }
    return is_within;
  }

 private:
  bool print(const char* name, Product& product, Product& beside) {
    const Problem& problem = product.call().problem;
    const auto [bound, of_class] = bounds(problem);
    const Judgement is =
        product.judge(bound, stream_, [&] { multiply(Accuracy::fp32_f16x3, product.call()); });
    const Judgement cublas = product.judge(bound, stream_, [&] { cublas_.gemm(product.call()); });
    const std::vector<Timing> times =
        timer_.time_interleaved({[&](int) { multiply(Accuracy::fp32_f16x3, product.call()); },
                                 [&](int) { multiply(Accuracy::fp32_f16x3, beside.call()); },
                                 [&](int) { multiply(Accuracy::fp32, product.call()); },
                                 [&](int) { cublas_.gemm(product.call()); }},
                                FinalsRule());
    const double us = times[0].median_us;
    const std::int64_t rows = std::ssize(product.losing_rows());
    const std::int64_t cols = std::ssize(product.losing_cols());
    fmt::print(
        "| {} | {} | {} of {} | {} of {} | {} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {:.3f} "
        "| {:.3f} | {:.2f} |\n",
        to_string(problem), name, rows, problem.M, cols, problem.N, way(problem, rows, cols), us,
        us / times[1].median_us, times[2].median_us / us, times[3].median_us / us, is.error,
        cublas.error, is.in_order);
    std::fflush(stdout);  // for who interrupts
    return is.error <= std::max(1.0, of_class.sums / bound.sums);
  }

  static const char* way(const Problem& problem, std::int64_t rows, std::int64_t cols) {
    if (rows == 0 && cols == 0) return "parts";
    const bool are_few =
        rows <= parts::most_losing(problem.M) && cols <= parts::most_losing(problem.N);
    return are_few ? "parts, fp32 on lines" : "fp32";
  }

  // Of fp32 and of the class.
  static std::pair<ErrorBound, ErrorBound> bounds(const Problem& problem) {
    const int sm = query_device(current_device()).sm();
    Signature of_class = problem.signature;
    of_class.accuracy = Accuracy::fp32_f16x3;
    ErrorBound fp32 = error_bound(problem.signature, problem.K, sm);
    fp32.each += 0x1p-150 * static_cast<double>(problem.K);  // sums of Kahan's are subnormal
    return {fp32, error_bound(of_class, problem.K, sm)};
  }

  void multiply(Accuracy accuracy, const GemmCall& call) {
    const gt_gemm_call c = c_call(call, accuracy);
    check_status(gt_gemm(handle_.get(), stream_.get(), &c));
  }

  const OpenHandle handle_;
  const Stream stream_;
  const Nvml nvml_;
  LaunchTimer timer_;
  Cublas cublas_;
};

ProblemOptions parse(int argc, char** argv) {
  ProblemOptions o;
  CLI::App app("Products of numbers that two f16 parts do not hold.", "lost_numbers");
  add_problem_options(app, o, "As in 512x11008x4096:layout=nt");
  parse_or_exit(app, argc, argv);
  return o;
}

std::vector<Problem> single_fp32_problems(const ProblemOptions& o) {
  std::vector<Problem> problems;
  for (const std::string& text : o.problems) problems.push_back(packed_fp32_problem(text));
  return problems;
}

int run(const ProblemOptions& o, const std::vector<Problem>& problems,
        const std::string& description) {
  Bench bench(o.database);
  fmt::print(
      "{}| problem | data of A and B | rows of A that lose numbers | columns of B | served by | us "
      "| over normal data's | speed over plain fp32 | over cublasSgemm | error over fp32's bound | "
      "cublasSgemm's | sums in order |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      description);
  bool is_within = true;
  for (const Problem& problem : problems) is_within &= bench.print(problem);
  return is_within ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("lost_numbers", argc, argv, parse, single_fp32_problems, run);
}
