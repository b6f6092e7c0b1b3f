// SPDX-License-Identifier: Apache-2.0
// The rounding of tensor cores: by hand, against fp64, and against errors measured on a GPU.
#include "tests/emulator/device/tensor_core.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/types/error_bound.h"
#include "core/types/float8.h"

namespace gemm_tune::emulator {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// sum + a b + a b + ..., of numbers that the format holds.
struct Product {
  float a, b;
};
float sum_of(int sm, Float16Format format, float sum, const std::vector<Product>& products) {
  std::vector<std::uint16_t> a, b;
  for (const Product& product : products) {
    a.push_back(from_float(format, product.a));
    b.push_back(from_float(format, product.b));
  }
  return multiply_add(tensor_core_of(sm), format, a, b, sum);
}

// Beside a sum of 1, whose exponent is 0, 2^-23 is the last bit of fp32. What has half or a quarter
// of it counts as far as the architecture keeps that bit, once enough of it has come together.
TEST(TensorCore, CutsOffWhatLiesBelowItsFractionBits) {
  const Product half{0x1p-12f, 0x1p-12f}, quarter{0x1p-12f, 0x1p-13f}, eighth{0x1p-13f, 0x1p-13f};
  constexpr float kNext = 1 + 0x1p-23f;
  for (const Float16Format format : {kF16, kBf16}) {
    EXPECT_EQ(sum_of(70, format, 1, {half, half}), 1);
    EXPECT_EQ(sum_of(80, format, 1, {half, half}), kNext);
    EXPECT_EQ(sum_of(80, format, 1, {quarter, quarter, quarter, quarter}), 1);
    EXPECT_EQ(sum_of(90, format, 1, {quarter, quarter, quarter, quarter}), kNext);
    EXPECT_EQ(sum_of(90, format, 1, std::vector<Product>(16, eighth)), 1);
  }
}

TEST(TensorCore, RoundsTheSumTowardZero) {
  const Product quarter{0x1p-12f, 0x1p-13f};
  EXPECT_EQ(sum_of(90, kF16, 1, {quarter, quarter, quarter}), 1);
  EXPECT_EQ(sum_of(90, kF16, -1, {{-0x1p-12f, 0x1p-13f}}), -1);
  // -1 + 2^-25 = -(1 - 2^-25), whose 25 bits are all ones. To nearest it would be -1.
  EXPECT_EQ(sum_of(90, kF16, -1, {quarter}), -(1 - 0x1p-24f));
  EXPECT_EQ(sum_of(80, kF16, -1, {quarter}), -1);
}

// Volta adds 4 products at once, Turing to Ada 8, Hopper and Blackwell 16.
TEST(TensorCore, RoundsAfterEachStep) {
  std::vector<Product> products(16, {0, 0});
  products[0] = products[8] = {0x1p-12f, 0x1p-12f};
  EXPECT_EQ(sum_of(86, kF16, 1, products), 1);
  EXPECT_EQ(sum_of(90, kF16, 1, products), 1 + 0x1p-23f);
  std::swap(products[1], products[8]);
  EXPECT_EQ(sum_of(86, kF16, 1, products), 1 + 0x1p-23f);
}

// The exponents are those of the factors: 1.5 * 1.5 counts as 2^0, though it is above 2.
// One line of left by one of right.
float product_of(const OperandFormat& format, std::vector<std::uint32_t> a,
                 std::vector<std::uint32_t> b, float sum) {
  a.resize(static_cast<std::size_t>(format.depth()));
  b.resize(static_cast<std::size_t>(format.depth()));
  multiply_add(tensor_core_of(90), format, a, b, std::span(&sum, 1));
  return sum;
}

// Ten bits of fraction; what lies below is cut off, so that rounding is up to who stores operands.
TEST(TensorCore, CutsElementsOfF32OffToTf32) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(product_of(kOperandTf32, {bits(1 + 0x1p-10f)}, {bits(3)}, 0), 3 * (1 + 0x1p-10f));
  EXPECT_EQ(product_of(kOperandTf32, {bits(1 + 0x1.8p-11f)}, {bits(3)}, 0), 3);
  EXPECT_EQ(product_of(kOperandTf32, {bits(-1 - 0x1.8p-11f)}, {bits(0x1p-130f)}, 0), -0x1p-130f);
}

// Hopper adds as many bytes at once: 16 products of 16 bits, 8 of tf32.
TEST(TensorCore, AddsEightProductsOfTf32AtOnce) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  std::vector<std::uint32_t> small(8, bits(0x1p-12f));
  EXPECT_EQ(product_of(kOperandTf32, {small.begin(), small.begin() + 2}, small, 1), 1 + 0x1p-23f);
  EXPECT_EQ(kOperandTf32.depth(), 8);
}

// Of e4m3 Hopper keeps 13 fraction bits, of each product and of the sum.
TEST(TensorCore, KeepsFourteenBitsOfSumsOfE4m3) {
  const auto with = [](float sum, const std::vector<std::pair<float, float>>& products) {
    std::vector<std::uint32_t> a, b;
    for (const auto& [x, y] : products) {
      a.push_back(e4m3_from_float(x));
      b.push_back(e4m3_from_float(y));
    }
    return product_of(kOperandE4m3, a, b, sum);
  };
  EXPECT_EQ(kOperandE4m3.depth(), 32);
  EXPECT_EQ(with(0, {{448, 448}}), 448.0f * 448);
  EXPECT_EQ(with(0, {{0x1p-9f, -0x1p-9f}}), -0x1p-18f);
  EXPECT_EQ(with(1, {{0x1p-6f, 0x1p-7f}}), 1 + 0x1p-13f);
  EXPECT_EQ(with(1, {{0x1p-7f, 0x1p-7f}, {0x1p-7f, 0x1p-7f}}), 1);
  EXPECT_EQ(with(1 + 0x1p-14f, {{1, 1}}), 2);
  EXPECT_TRUE(std::isnan(with(0, {{std::nanf(""), 1}})));
}

TEST(TensorCore, AlignsProductsByTheExponentsOfTheirFactors) {
  EXPECT_EQ(sum_of(80, kF16, 0, {{1.5f, 1.5f}, {0x1p-12f, 0x1p-12f}, {-1.5f, 1.5f}}), 0x1p-24f);
  EXPECT_EQ(sum_of(80, kF16, 0, {{2, 1}, {0x1p-12f, 0x1p-12f}, {-2, 1}}), 0);
}

TEST(TensorCore, LetsNoProductOfZeroAlignTheOthers) {
  EXPECT_EQ(sum_of(80, kF16, 0x1p-20f, {{0, 32768}, {-0.0f, 65504}}), 0x1p-20f);
  EXPECT_EQ(sum_of(80, kBf16, 0, {{0, 0x1p100f}}), 0);
}

TEST(TensorCore, KeepsSubnormalNumbers) {
  EXPECT_EQ(sum_of(90, kF16, 0, {{0x1p-24f, 0x1p-24f}}), 0x1p-48f);
  EXPECT_EQ(sum_of(90, kF16, 0, {{0x1.8p-23f, 2}, {0x1p-24f, 1}}), 0x1.cp-22f);
  EXPECT_EQ(sum_of(90, kBf16, 0, {{0x1p-100f, 0x1p-49f}}), 0x1p-149f);
  EXPECT_EQ(sum_of(90, kBf16, 0, {{0x1p-100f, 0x1p-50f}}), 0);
  EXPECT_EQ(sum_of(90, kBf16, 0x1p-149f, {{0x1p-133f, 0x1p-16f}}), 0x1p-148f);
}

TEST(TensorCore, KnowsInfinityAndNan) {
  EXPECT_EQ(sum_of(90, kBf16, 0, {{0x1p127f, 2}}), kInfinity);
  EXPECT_EQ(sum_of(90, kBf16, -kInfinity, {{1, 1}}), -kInfinity);
  EXPECT_TRUE(std::isnan(sum_of(90, kBf16, kInfinity, {{-kInfinity, 1}})));
  EXPECT_TRUE(std::isnan(sum_of(90, kF16, 0, {{kInfinity, 0}})));
  EXPECT_TRUE(std::isnan(sum_of(90, kF16, 0, {{std::nanf(""), 1}})));
  EXPECT_TRUE(std::isnan(sum_of(90, kF16, std::nanf(""), {{1, 1}})));
}

struct Vectors {
  std::vector<std::uint16_t> a, b;
};
Vectors random_vectors(Float16Format format, int count, std::mt19937& random, bool integers) {
  Vectors vectors;
  const auto number = [&] {
    const auto bits = static_cast<std::int32_t>(random());
    return from_float(
        format, integers ? static_cast<float>(bits % 9) : static_cast<float>(bits) * 0x1p-31f);
  };
  for (int i = 0; i < count; ++i) {
    vectors.a.push_back(number());
    vectors.b.push_back(number());
  }
  return vectors;
}

struct Exact {
  double sum = 0, magnitude = 0;
};
Exact exact(Float16Format format, const Vectors& v) {
  Exact of;
  for (std::size_t i = 0; i < v.a.size(); ++i) {
    const double product = double{to_float(format, v.a[i])} * double{to_float(format, v.b[i])};
    of.sum += product;
    of.magnitude += std::abs(product);
  }
  return of;
}

TEST(TensorCore, IsExactOnSmallWholeNumbers) {
  std::mt19937 random(1);
  for (const int sm : {70, 75, 80, 89, 90, 120}) {
    for (const Float16Format format : {kF16, kBf16}) {
      const Vectors v = random_vectors(format, 1000, random, true);
      EXPECT_EQ(multiply_add(tensor_core_of(sm), format, v.a, v.b, 0), exact(format, v).sum) << sm;
    }
  }
}

TEST(TensorCore, StaysWithinTheBoundOfItsAccuracyClass) {
  const Signature types = signature_of(ElementType::f16, ElementType::f32);
  std::mt19937 random(2);
  for (const int sm : {70, 80, 90}) {
    for (const int K : {1, 4, 8, 16, 64, 1024}) {
      const ErrorBound bound = error_bound(types, K, sm);
      for (int repeat = 0; repeat < 20; ++repeat) {
        const Vectors v = random_vectors(kF16, K, random, false);
        const auto [sum, magnitude] = exact(kF16, v);
        EXPECT_LE(std::abs(multiply_add(tensor_core_of(sm), kF16, v.a, v.b, 0) - sum),
                  bound.at(std::abs(sum), magnitude))
            << "sm_" << sm << " K " << K;
      }
    }
  }
}

// An H100's relative Frobenius errors at 4096 x 4096 x 4096 of fp32 operands that are split into
// bf16 numbers, their products concatenated along K: 5.5e-6 with two numbers each and three
// products, 4.0e-6 with three numbers and six products, the smallest products first (cuBLAS 13.0,
// 2026-11-20). Here of 128 elements; the operands are uniform in [-1, 1].
double error_of_split(int parts, int K) {
  std::mt19937 random(3);
  const auto uniform = [&] {
    return static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  };
  double error = 0, norm = 0;
  for (int element = 0; element < 128; ++element) {
    std::vector<std::vector<std::uint16_t>> a(3), b(3);
    double right = 0;
    for (int k = 0; k < K; ++k) {
      float x = uniform(), y = uniform();
      right += double{x} * double{y};
      for (std::size_t i = 0; i < 3; ++i) {
        a[i].push_back(from_float(kBf16, x));
        b[i].push_back(from_float(kBf16, y));
        x -= to_float(kBf16, a[i].back());
        y -= to_float(kBf16, b[i].back());
      }
    }
    float sum = 0;
    for (int order = parts - 1; order >= 0; --order) {
      for (int i = 0; i <= order; ++i) {
        const auto first = static_cast<std::size_t>(i);
        sum = multiply_add(tensor_core_of(90), kBf16, a[first],
                           b[static_cast<std::size_t>(order) - first], sum);
      }
    }
    error += (sum - right) * (sum - right);
    norm += right * right;
  }
  return std::sqrt(error / norm);
}

TEST(TensorCore, HasTheErrorsMeasuredOnAnH100) {
  EXPECT_NEAR(error_of_split(2, 4096), 5.5e-6, 0.15 * 5.5e-6);
  EXPECT_NEAR(error_of_split(3, 4096), 4.0e-6, 0.15 * 4.0e-6);
}

}  // namespace
}  // namespace gemm_tune::emulator
