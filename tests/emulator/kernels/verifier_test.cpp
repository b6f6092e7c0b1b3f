// SPDX-License-Identifier: Apache-2.0
// The verifier's kernels on the CPU: that they judge right for every type, and that by them mma's
// results are right where they are and wrong where a product is lost or rounding is worse.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/types/error_bound.h"
#include "tests/emulator/device/matrix.h"
#include "tests/emulator/kernels/emulated_kernel.h"
#include "tests/emulator/kernels/objects.h"
// Ahead of the device text: it is what that compiles against.
#include "tests/emulator/device/cuda_on_cpu.h"
#define __shared__ static  // one CTA runs at a time

inline void atomicAdd(unsigned long long* address, unsigned long long value) { *address += value; }
inline void atomicMax(unsigned long long* address, unsigned long long value) {
  *address = std::max(*address, value);
}
// After it.
#include "tuner/measure/device_checks.cuh"

namespace gemm_tune::emulator {
namespace {

constexpr long long kGuard = 64;
constexpr unsigned long long kSeed = 7;

// Runs a kernel of the text, `ctas` CTAs.
void run(int ctas, int threads, const std::function<void()>& kernel) {
  Emulator emulator(threads, 0);
  const auto thread = [&](Cta& cta) {
    current = &cta;
    kernel();
  };
  emulator.run({{ctas}, Order::forward}, thread);
}

struct Cells {
  Matrices matrices;
  std::vector<char> bytes;

  Cells(long long rows, long long cols, long long ld, ElementType type, long long guard)
      : matrices{rows, cols, ld, rows * ld, 1, guard, static_cast<int>(type)},
        bytes(static_cast<std::size_t>((2 * guard + rows * ld) * bytes_of(type))) {}

  void fill(unsigned long long seed, int range, bool poisoned = false) {
    run(2, 64, [&] { fill_matrices(bytes.data(), matrices, seed, range, poisoned ? 1 : 0); });
  }

  MatrixView view() {
    const auto type = static_cast<ElementType>(matrices.type);
    return {bytes.data() + matrices.guard * bytes_of(type),
            static_cast<int>(matrices.rows),
            static_cast<int>(matrices.cols),
            matrices.ld,
            1,
            0,
            type};
  }
};

// A product of the verifier: on whole numbers of this range, or random data where it is 0.
class Product {
 public:
  Product(const Problem& problem, int alignment, int range)
      : range_(range),
        call_(packed_call(problem)),
        A_(rows_a(problem), row_length_a(problem), padded(call_.lda, alignment),
           problem.signature.a, 0),
        B_(rows_b(problem), row_length_b(problem), padded(call_.ldb, alignment),
           problem.signature.b, 0),
        D_(problem.M, problem.N, padded(call_.ldc, alignment), problem.signature.d, kGuard),
        sum_(static_cast<std::size_t>(problem.M * problem.N)),
        magnitude_(sum_.size()) {
    call_.lda = A_.matrices.ld;
    call_.ldb = B_.matrices.ld;
    call_.ldc = D_.matrices.ld;
    call_.alpha = range > 0 ? 1 : 0.75;
    call_.beta = range > 0 ? 0 : -0.5;
    call_ = in_place(call_, A_.view().data, B_.view().data, D_.view().data);
    A_.fill(kSeed + 1, range);
    B_.fill(kSeed + 2, range);
    reset();
    const int M = static_cast<int>(problem.M), N = static_cast<int>(problem.N);
    const int K = static_cast<int>(problem.K);
    run((M + 31) / 32 * ((N + 31) / 32), 1024, [&] {
      reference_gemm(A_.bytes.data(), A_.matrices, transposes_a(problem.layout), B_.bytes.data(),
                     B_.matrices, transposes_b(problem.layout), M, N, K, sum_.data(),
                     magnitude_.data());
    });
  }

  const GemmCall& call() const { return call_; }
  MatrixView A() { return A_.view(); }
  MatrixView B() { return B_.view(); }
  MatrixView D() { return D_.view(); }

  // C in D again, or poison where it is not read.
  void reset() { D_.fill(kSeed, range_, range_ > 0); }

  float a(int row, int k) {
    return transposes_a(call_.problem.layout) ? A().get(k, row) : A().get(row, k);
  }
  void set_a(int row, int k, float value) {
    if (transposes_a(call_.problem.layout)) {
      A().set(k, row, value);
    } else {
      A().set(row, k, value);
    }
  }
  float b(int k, int col) {
    return transposes_b(call_.problem.layout) ? B().get(col, k) : B().get(k, col);
  }
  double sum(int row, int col) const {
    return sum_[static_cast<std::size_t>(row * call_.problem.N + col)];
  }

  CheckResult check(int sm) {
    CheckResult result{};
    const Problem& p = call_.problem;
    const ErrorBound bound = error_bound(p.signature, p.K, sm);
    run(2, 64, [&] {
      check_matrices(D_.bytes.data(), D_.matrices, sum_.data(), magnitude_.data(), call_.alpha,
                     call_.beta, kSeed, range_, /*keeps_whole_numbers=*/1, bound, {}, &result);
    });
    return result;
  }

  // The relative error of D in the Frobenius norm, from two CTAs.
  double error() {
    constexpr int kCtas = 2, kThreads = 64;
    std::vector<double> squares(2 * kCtas * kThreads, -1);
    run(kCtas, kThreads,
        [&] { sum_squares(D_.bytes.data(), D_.matrices, sum_.data(), {}, squares.data()); });
    double off = 0, all = 0;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      (i < squares.size() / 2 ? off : all) += squares[i];
    }
    return std::sqrt(off / all);
  }

 private:
  static long long padded(long long width, int alignment) {
    return (width + alignment - 1) / alignment * alignment + alignment;
  }

  int range_;
  GemmCall call_;
  Cells A_, B_, D_;
  std::vector<double> sum_, magnitude_;
};

// In fp64, rounded once.
void multiply(Product& product) {
  const GemmCall& call = product.call();
  for (int row = 0; row < call.problem.M; ++row) {
    for (int col = 0; col < call.problem.N; ++col) {
      double sum = 0;
      for (int k = 0; k < call.problem.K; ++k) {
        sum += double{product.a(row, k)} * double{product.b(k, col)};
      }
      const double old = call.beta == 0 ? 0 : call.beta * double{product.D().get(row, col)};
      product.D().set(row, col, static_cast<float>(call.alpha * sum + old));
    }
  }
}

constexpr Signature kSignatures[] = {
    signature_of(ElementType::f32),
    signature_of(ElementType::f16, ElementType::f32),
    signature_of(ElementType::bf16, ElementType::f32),
    signature_of(ElementType::f16),
    signature_of(ElementType::bf16),
    signature_of(ElementType::e4m3, ElementType::f32),
    signature_of(ElementType::e4m3, ElementType::bf16),
    {ElementType::f32, ElementType::bf16, ElementType::f32, ElementType::f32, Accuracy::fp32},
    {ElementType::f16, ElementType::f32, ElementType::f32, ElementType::f32, Accuracy::fp32},
};

class VerifierKernels : public testing::TestWithParam<Signature> {};

TEST_P(VerifierKernels, AcceptRightResultsInEveryLayout) {
  for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
    for (const int range : {4, 0}) {
      Product product(packed_problem(33, 37, 35, layout, 1, GetParam()), 1, range);
      multiply(product);
      const CheckResult result = product.check(90);
      EXPECT_EQ(result.wrong, 0u) << to_string(layout) << " range " << range;
      EXPECT_EQ(result.touched, 0u);
    }
  }
}

TEST_P(VerifierKernels, FindAWrongElementAndCellsOutsideD) {
  for (const int range : {4, 0}) {
    Product product(packed_problem(5, 7, 9, Layout::nn, 1, GetParam()), 1, range);
    if (range > 0) {
      EXPECT_EQ(product.check(90).wrong, 35u) << "nothing was written";
    }
    multiply(product);
    const MatrixView D = product.D();
    D.set(3, 2, D.get(3, 2) + 1.0f);
    CheckResult result = product.check(90);
    EXPECT_EQ(result.wrong, 1u);
    EXPECT_EQ(~result.first_wrong_inverted, 3u * 7 + 2);
    EXPECT_EQ(result.touched, 0u);
    for (const auto& [row, col] : {std::pair(0, -1), std::pair(0, 7), std::pair(4, 8)}) {
      D.set(row, col, std::nanf(""));
    }
    EXPECT_EQ(product.check(90).touched, 3u);
  }
}

TEST_P(VerifierKernels, SumTheSquaresOfDifferencesAndOfTheReferenceWithoutGapsAndGuards) {
  Product product(packed_problem(5, 7, 9, Layout::nn, 1, GetParam()), 1, 4);
  multiply(product);
  EXPECT_EQ(product.error(), 0);
  const MatrixView D = product.D();
  D.set(3, 2, D.get(3, 2) + 3.0f);
  D.set(4, 6, D.get(4, 6) - 4.0f);
  double squares = 0;
  for (int row = 0; row < 5; ++row) {
    for (int col = 0; col < 7; ++col) squares += product.sum(row, col) * product.sum(row, col);
  }
  EXPECT_NEAR(product.error(), 5 / std::sqrt(squares), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Types, VerifierKernels, testing::ValuesIn(kSignatures),
                         [](const auto& instance) {
                           std::string name = to_string(instance.param);
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

int rounded_up(int size, int multiple) { return (size + multiple - 1) / multiple * multiple; }

// A config of mma at a depth K, on 64 x 64 outputs or what the config needs.
class VerifiedMma : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  VerifiedMma() : kernel_(object_of(std::get<0>(GetParam())), std::get<0>(GetParam())) {}

  Product product(int range) const {
    const KnownConfig& config = kernel_.config();
    const LaunchRecipe& recipe = config.recipe;
    const Problem problem =
        packed_problem(rounded_up(64, recipe.multiple_m), rounded_up(64, recipe.multiple_n),
                       std::get<1>(GetParam()), recipe.layout, 1, config.traits.signature);
    return Product(problem, recipe.alignment, range);
  }
  Product on_whole_numbers() const {
    return product(exact_range(std::get<1>(GetParam()), kernel_.config().traits.signature.d));
  }

  void run(Product& product, const TensorCore& core) {
    product.reset();
    kernel_.run(product.call(), core);
  }

 private:
  EmulatedKernel kernel_;
};

TEST_P(VerifiedMma, IsRight) {
  Product whole = on_whole_numbers(), random = product(0);
  for (const int sm : {80, 90}) {
    for (Product* product : {&whole, &random}) {
      run(*product, tensor_core_of(sm));
      const CheckResult result = product->check(sm);
      EXPECT_EQ(result.wrong, 0u) << sm;
      EXPECT_EQ(result.touched, 0u) << sm;
    }
  }
}

TEST_P(VerifiedMma, IsWrongWhereOneElementLacksOneProduct) {
  constexpr int kRow = 37, kCol = 21;
  Product product = on_whole_numbers();
  int k = std::get<1>(GetParam()) / 2;
  while (product.a(kRow, k) == 0 || product.b(k, kCol) == 0) ++k;
  const float kept = product.a(kRow, k);
  product.set_a(kRow, k, 0);
  run(product, tensor_core_of(90));
  const float lacking = product.D().get(kRow, kCol);
  product.set_a(kRow, k, kept);
  run(product, tensor_core_of(90));
  product.D().set(kRow, kCol, lacking);
  const CheckResult result = product.check(90);
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(~result.first_wrong_inverted,
            static_cast<unsigned long long>(kRow * product.call().problem.N + kCol));
}

class ShallowMma : public VerifiedMma {};

// Of f16 the operands have 9 bits of fraction left, of bf16 6.
TEST_P(ShallowMma, IsWrongWhereOperandsLoseTheirLastBit) {
  Product product = this->product(0);
  for (const MatrixView& operand : {product.A(), product.B()}) {
    for (int row = 0; row < operand.rows; ++row) {
      for (int col = 0; col < operand.cols; ++col) {
        auto& bits = *reinterpret_cast<std::uint16_t*>(operand.address(row, col));
        bits = static_cast<std::uint16_t>(bits & 0xfffe);
      }
    }
  }
  run(product, tensor_core_of(90));
  EXPECT_GT(product.check(90).wrong, 100u);
}

// 14 or 15 bits instead of 24 or 25.
TEST_P(ShallowMma, IsWrongWhereSumsLoseTenBits) {
  Product product = this->product(0);
  for (const int sm : {80, 90}) {
    TensorCore core = tensor_core_of(sm);
    core.fraction_bits -= 10;
    run(product, core);
    EXPECT_GT(product.check(sm).wrong, 0u) << sm;
  }
}

std::vector<std::string> mma_configs(const char* list = GT_EMULATOR_CONFIGS) {
  std::vector<std::string> configs = configs_in(list);
  std::erase_if(configs, [](const std::string& config) {
    return !config.starts_with("mma/") ||
           config.find("POINTERS=1") != config.npos;  // of matrices, not arrays
  });
  return configs;
}

// Those of the class sums_fp32: the bounds of the others are wider than what is lost here.
std::vector<std::string> mma_configs_of_sums_fp32(const char* list = GT_EMULATOR_CONFIGS) {
  std::vector<std::string> configs = mma_configs(list);
  std::erase_if(configs,
                [](const std::string& config) { return config.find("ACCURACY=") != config.npos; });
  return configs;
}

// Of each set of types the one with the smallest tile.
std::vector<std::string> mma_configs_of_each_type() {
  std::map<std::string, std::pair<int, std::string>> smallest;
  for (const std::string& config : mma_configs()) {
    const Traits& t = check_config(parse_config(config)).traits;
    const std::pair one(t.tile_m * t.tile_n, config);
    const auto [at, is_new] = smallest.emplace(to_string(t.signature), one);
    if (!is_new) at->second = std::min(at->second, one);
  }
  std::vector<std::string> configs;
  for (const auto& [types, one] : smallest) configs.push_back(one.second);
  return configs;
}

std::string name_of(const testing::TestParamInfo<std::tuple<std::string, int>>& instance) {
  const auto& [config, K] = instance.param;
  return identifier(config) + "_K" + std::to_string(K);
}

INSTANTIATE_TEST_SUITE_P(Configs, VerifiedMma,
                         testing::Combine(testing::ValuesIn(mma_configs()), testing::Values(64)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Types, VerifiedMma,
                         testing::Combine(testing::ValuesIn(mma_configs_of_each_type()),
                                          testing::Values(256)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Deep, VerifiedMma,
                         testing::Combine(testing::ValuesIn(mma_configs()),
                                          testing::Values(1024, 4096)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(MoreConfigs, VerifiedMma,
                         testing::Combine(testing::ValuesIn(mma_configs(GT_MORE_EMULATOR_CONFIGS)),
                                          testing::Values(64, 1024, 4096)),
                         name_of);
// The bound grows with K, errors with its root.
INSTANTIATE_TEST_SUITE_P(Configs, ShallowMma,
                         testing::Combine(testing::ValuesIn(mma_configs_of_sums_fp32()),
                                          testing::Values(64)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(
    MoreConfigs, ShallowMma,
    testing::Combine(testing::ValuesIn(mma_configs_of_sums_fp32(GT_MORE_EMULATOR_CONFIGS)),
                     testing::Values(64)),
    name_of);

}  // namespace
}  // namespace gemm_tune::emulator
