// SPDX-License-Identifier: Apache-2.0
// What accuracy classes of fp32 products cost and are worth: for each problem the library's product
// of the class, the same with B prepared (gt_prepare), and its plain fp32 one, timed in turn with
// cublasSgemm by the tuner's rules, and their errors against fp64 over cublasSgemm's.
//
//   accuracy_classes DATABASE PROBLEM... [--class NAME]
//
// PROBLEM: as in 512x11008x4096:layout=nt, packed, without a type. Times are of random normal
// elements, the pre-passes inside, and of the class also on wide ones, whose powers of two the
// parts of operands cannot hold; errors are those of 4,096 elements, in the Frobenius norm, on
// uniform, normal, positive and wide data. bench/library/accuracy_classes.sh tunes the problems
// first. Needs a GPU. Exit codes: 0; 2 usage; 3 no GPU, no usable database, a call that failed.
#include <gemm_tune/gemm_tune.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/library/sgemm_ways.h"
#include "bench/program.h"
#include "core/error.h"
#include "core/problem/gemm_call.h"
#include "core/types/accuracy.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/device.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "gpu/nvml.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

enum class Data { uniform, normal, positive, wide };
constexpr std::array kData = {Data::uniform, Data::normal, Data::positive, Data::wide};
constexpr int kWidth = 40;  // of wide data: the power of two that each number is scaled by
constexpr std::int64_t kSamples = 4096;

// A block of random elements again and again: a number for each would take longer than the calls.
class Operand {
 public:
  Operand(std::int64_t elements, Data data, unsigned seed)
      : block_(static_cast<std::size_t>(std::min<std::int64_t>(elements, (1 << 20) + 7))),
        matrix_(static_cast<std::size_t>(elements)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(data == Data::positive ? 0.0f : -1.0f, 1.0f);
    std::uniform_int_distribution<int> exponent(-kWidth, kWidth);
    for (float& x : block_) {
      x = data == Data::normal ? normal(random) : uniform(random);
      if (data == Data::wide) x = std::ldexp(x, exponent(random));
    }
    for (std::size_t at = 0; at < matrix_.size(); at += block_.size()) {
      matrix_.copy_from_host(
          std::span<const float>(block_).first(std::min(block_.size(), matrix_.size() - at)), at);
    }
  }

  const float* data() const { return matrix_.data(); }
  double at(std::int64_t element) const {
    return block_[static_cast<std::size_t>(element) % block_.size()];
  }

 private:
  std::vector<float> block_;
  DeviceBuffer<float> matrix_;
};

class Bench {
 public:
  Bench(const std::string& database, Accuracy accuracy)
      : handle_(database, ""),
        accuracy_(accuracy),
        nvml_(current_device()),
        timer_(stream_, nvml_) {
    cublas_.set_stream(stream_.get());
  }

  void print(const Problem& problem) {
    Arms normal(*this, problem, Data::normal);
    const std::vector<Timing> times = normal.times();
    const auto tflops = [&](const Timing& timing) {
      return flops(problem) / timing.median_us * 1e-6;
    };
    const auto over = [&](std::size_t arm, std::size_t other) {
      return times[other].median_us / times[arm].median_us;
    };
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.3f} | {:.3f} | {:.1f} | {:.3f} |",
               to_string(problem), tflops(times[kOfCublas]), tflops(times[kOfFp32]),
               tflops(times[kOfClass]), over(kOfClass, kOfCublas), over(kOfClass, kOfFp32),
               tflops(times[kOfClassKept]), over(kOfClassKept, kOfCublas));
    for (const Data data : kData) {
      Arms arms(*this, problem, data);
      const double of_cublas = arms.error(kOfCublas);
      fmt::print(" {:.3f} / {:.3f} |", arms.error(kOfFp32) / of_cublas,
                 arms.error(kOfClass) / of_cublas);
    }
    Arms wide(*this, problem, Data::wide);
    fmt::print(" {:.1f} |", tflops(wide.times()[kOfClass]));
    fmt::print(" {} |\n", config(problem));
    std::fflush(stdout);  // for who interrupts
  }

 private:
  // The product by cublasSgemm, by the library in fp32, in the class, and in the class with B
  // prepared.
  static constexpr int kOfCublas = 0, kOfFp32 = 1, kOfClass = 2, kOfClassKept = 3;
  class Arms {
   public:
    Arms(Bench& bench, const Problem& problem, Data data)
        : bench_(bench),
          a_(problem.batch * problem.M * problem.K, data, 1),
          b_(problem.batch * problem.K * problem.N, data, 2),
          d_(static_cast<std::size_t>(problem.batch * problem.M * problem.N)),
          call_(in_place(packed_call(problem), a_.data(), b_.data(), d_.data())) {
      const gt_gemm_call call = c_call(call_, bench_.accuracy_);
      const gt_status status =
          gt_prepare(bench_.handle_.get(), bench_.stream_.get(), &call, GT_OPERAND_B, &prepared_b_);
      if (status != GT_NO_KERNEL) check_status(status);  // of other classes nothing is prepared
    }
    ~Arms() { gt_release(prepared_b_); }
    Arms(const Arms&) = delete;
    Arms& operator=(const Arms&) = delete;

    void launch(int arm) {
      if (arm == kOfCublas) return bench_.cublas_.gemm(call_);
      gt_gemm_call call = c_call(call_, arm == kOfFp32 ? Accuracy::fp32 : bench_.accuracy_);
      if (arm == kOfClassKept) call.prepared_b = prepared_b_;
      check_status(gt_gemm(bench_.handle_.get(), bench_.stream_.get(), &call));
    }

    std::vector<Timing> times() {
      std::vector<Launch> launches;
      for (const int arm : {kOfCublas, kOfFp32, kOfClass, kOfClassKept}) {
        launch(arm);  // outside of a capture: it may load code
        launches.push_back([this, arm](int) { launch(arm); });
      }
      bench_.stream_.synchronize();
      return bench_.timer_.time_interleaved(launches, FinalsRule());
    }

    double error(int arm) {
      launch(arm);
      bench_.stream_.synchronize();
      std::vector<float> d(d_.size());
      d_.copy_to_host(d);
      const Problem& p = call_.problem;
      const std::int64_t elements = p.batch * p.M * p.N;
      double off = 0, all = 0;
      for (std::int64_t i = 0; i < kSamples; ++i) {
        const std::int64_t at = i * 7919 * 104729 % elements;
        const double exact = exact_at(at / (p.M * p.N), at % (p.M * p.N) / p.N, at % p.N);
        off += std::pow(d[static_cast<std::size_t>(at)] - exact, 2);
        all += exact * exact;
      }
      return std::sqrt(off / all);
    }

   private:
    double exact_at(std::int64_t matrix, std::int64_t row, std::int64_t col) const {
      const Problem& p = call_.problem;
      const bool ta = transposes_a(p.layout), tb = transposes_b(p.layout);
      double sum = 0;
      for (std::int64_t k = 0; k < p.K; ++k) {
        sum += a_.at(matrix * p.M * p.K + (ta ? k * p.M + row : row * p.K + k)) *
               b_.at(matrix * p.N * p.K + (tb ? col * p.K + k : k * p.N + col));
      }
      return sum;
    }

    Bench& bench_;
    Operand a_, b_;
    DeviceBuffer<float> d_;
    const GemmCall call_;
    gt_prepared* prepared_b_ = nullptr;
  };

  // That serves the class, as a look-up tells.
  std::string config(const Problem& problem) const {
    const gt_gemm_call call = c_call(packed_call(problem), accuracy_);
    gt_recipe recipe{};
    check_status(gt_lookup(handle_.get(), nullptr, &call, &recipe));
    return recipe.config;
  }

  const OpenHandle handle_;
  const Accuracy accuracy_;
  const Stream stream_;
  const Nvml nvml_;
  LaunchTimer timer_;
  Cublas cublas_;
};

struct Options : ProblemOptions {
  std::string accuracy = "fp32_f16x3";
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("fp32 products of an accuracy class beside plain ones.", "accuracy_classes");
  add_problem_options(app, o, "As in 512x11008x4096:layout=nt");
  app.add_option("--class", o.accuracy, "Accuracy class")->capture_default_str();
  parse_or_exit(app, argc, argv);
  return o;
}

int run(const Options& o, const std::vector<Problem>& problems, const std::string& description) {
  const auto accuracy = accuracy_named(o.accuracy);
  if (!accuracy) {
    throw UsageError("'" + o.accuracy + "' is no accuracy class: use one of " + accuracy_names());
  }
  Bench bench(o.database, *accuracy);
  fmt::print(
      "{}| problem | cublasSgemm TFLOP/s | fp32 | {} | over cublasSgemm | over fp32 | class with B "
      "prepared | over cublasSgemm | errors over cublasSgemm's, fp32 / class: uniform | normal | "
      "positive | wide | class on wide | config |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      description, o.accuracy);
  for (const Problem& problem : problems) bench.print(problem);
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  return run_on_gpu("accuracy_classes", argc, argv, parse, named_problems, run);
}
