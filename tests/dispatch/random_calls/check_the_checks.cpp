// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/random_calls/check_the_checks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/types/error_bound.h"
#include "core/types/float16.h"
#include "tests/dispatch/random_calls/gemm_checks.h"

namespace gemm_tune {
namespace {

float to_float(int type, const std::vector<char>& cells, std::size_t i) {
  if (type == kTypeF32) return reinterpret_cast<const float*>(cells.data())[i];
  const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(cells.data())[i];
  return gemm_tune::to_float(type == kTypeF16 ? kF16 : kBf16, bits);
}

void from_float(int type, std::vector<char>& cells, std::size_t i, float value) {
  if (type == kTypeF32) {
    reinterpret_cast<float*>(cells.data())[i] = value;
  } else {
    reinterpret_cast<std::uint16_t*>(cells.data())[i] =
        gemm_tune::from_float(type == kTypeF16 ? kF16 : kBf16, value);
  }
}

// Packed, row-major.
struct Packed {
  Packed(std::int64_t rows, std::int64_t cols, int type)
      : cells(static_cast<std::size_t>(rows * cols * type_bytes(type))),
        matrix{cells.data(), rows, cols, cols, 1, 0, 1, type},
        host(cells.size()) {}

  double at(std::int64_t row, std::int64_t col) const {
    return to_float(matrix.type, host, static_cast<std::size_t>(row * matrix.cols + col));
  }
  void fetch() { cells.copy_to_host(host); }

  DeviceBuffer<char> cells;
  Matrix matrix;
  std::vector<char> host;
};

constexpr std::int64_t kM = 5, kN = 7, kK = 40;

// A product by the host passes, and does not with one element changed.
void check_the_checks(const GemmChecks& checks, int operands, int results, bool has_bias,
                      bool has_relu, bool exact) {
  Packed A(kM, kK, operands), B(kK, kN, operands), C(kM, kN, results), D(kM, kN, results),
      bias(1, kN, results);
  std::uint64_t seed = 1;
  for (Packed* x : {&A, &B, &C, &bias}) {
    checks.set_elements(x->matrix, ++seed, exact ? Fill::whole : Fill::uniform, nullptr);
    GT_CUDA(cudaDeviceSynchronize());
    x->fetch();
  }
  CheckedProduct product{A.matrix, B.matrix, C.matrix, bias.matrix, D.matrix, 2.0F,
                         -0.5F,    has_bias, has_relu, exact,       {}};
  product.bias.rows = kM;
  product.bias.row_step = 0;
  const auto type_of = [](int type) { return static_cast<ElementType>(type); };
  product.bound = error_bound(signature_of(type_of(operands), type_of(results)), kK + 1, 90);
  for (std::int64_t row = 0; row < kM; ++row) {
    for (std::int64_t col = 0; col < kN; ++col) {
      double sum = 0;
      for (std::int64_t k = 0; k < kK; ++k) sum += A.at(row, k) * B.at(k, col);
      double want = 2.0 * sum - 0.5 * C.at(row, col);
      if (has_bias) want += bias.at(0, col);
      if (has_relu) want = std::max(want, 0.0);
      from_float(results, D.host, static_cast<std::size_t>(row * kN + col),
                 static_cast<float>(want));
    }
  }
  for (const unsigned long long changed : {0ULL, 1ULL}) {
    constexpr std::size_t kPlace = 17;
    if (changed == 1) {
      from_float(results, D.host, kPlace, 1 + 1.25F * to_float(results, D.host, kPlace));
    }
    D.cells.copy_from_host(D.host);
    const Counter wrong = new_counter();
    checks.check_elements(product, wrong, nullptr);
    if (value_of(wrong) == changed) continue;
    throw Error(
        fmt::format("the kernel that checks finds {} wrong elements where {} is: types {} "
                    "and {}, epilogue {}",
                    value_of(wrong), changed, operands, results,
                    has_relu   ? "bias and ReLU"
                    : has_bias ? "bias"
                               : "none"));
  }
}

}  // namespace

void check_the_checks() {
  const GemmChecks checks;
  for (const auto& [operands, results] : {std::pair(kTypeF32, kTypeF32),
                                          {kTypeF16, kTypeF16},
                                          {kTypeF16, kTypeF32},
                                          {kTypeBf16, kTypeBf16},
                                          {kTypeBf16, kTypeF32}}) {
    for (const auto& [has_bias, has_relu] :
         {std::pair(false, false), {true, false}, {true, true}}) {
      for (const bool exact : {false, true}) {
        check_the_checks(checks, operands, results, has_bias, has_relu, exact);
      }
    }
  }
}

}  // namespace gemm_tune
