// SPDX-License-Identifier: Apache-2.0
#include "core/types/error_bound.h"

#include <algorithm>
#include <cmath>

#include "core/types/tensor_core.h"

namespace gemm_tune {
namespace {

constexpr double kU = unit_roundoff(kSumType);
constexpr int kLargestRange = 4;
// The depth of the shallowest instruction: mma.m16n8k8 for 16-bit operands, m16n8k4 for tf32.
constexpr int kLeastProducts = 8, kLeastTf32Products = 4;
// 8-bit operands: products of the shallowest instruction, m16n8k16; k whose sums a kernel adds in
// fp32 at the latest.
constexpr int kLeastProductsOf8 = 16, kPromotedEach8 = 128;

double power_of_two(int exponent) { return std::ldexp(1.0, exponent); }

// The log of 1 + what the parts of two operands leave out of a product: of each operand what lies
// below its parts, and the products of parts that are not made.
double left_out(const AccuracyInfo& info) {
  if (info.parts_bits == 0) return 0;
  const double below = power_of_two(-info.parts_bits);
  const int least_bits = info.least_bits > 0 ? info.least_bits : info.parts_bits;
  const int pairs = info.parts * info.parts - info.products;
  return 2 * std::log1p(power_of_two(-least_bits)) + std::log1p(pairs * below);
}

// The log of 1 + the error of sums over K products, by steps that cut off and, where they are
// promoted, additions in fp32.
double tensor_core_sums(const Signature& signature, std::int64_t K, const TensorCore& core) {
  const AccuracyInfo& info = info_of(signature.accuracy);
  const bool is_8_bits = info_of(signature.a).bits == 8;
  const int depth = info.operands == OperandKind::f32 ? kLeastTf32Products
                    : is_8_bits                       ? kLeastProductsOf8
                                                      : kLeastProducts;
  const int products = is_8_bits ? depth : std::min(core.products, depth);
  const std::int64_t together = is_8_bits ? kPromotedEach8 : info.promoted_each;
  const std::int64_t k = together > 0 ? std::min(K, together) : K;
  const std::int64_t steps = info.products * ((k + products - 1) / products);
  const int kept = is_8_bits ? core.fraction_bits_of_8 : core.fraction_bits;
  const int sum_bits = std::min(info.sum_bits, kept + 1);  // that a step leaves
  const double of_steps = static_cast<double>(steps) * (std::log1p(products * power_of_two(-kept)) +
                                                        std::log1p(power_of_two(1 - sum_bits)));
  const std::int64_t promotions = together > 0 ? (K + together - 1) / together : 0;
  return of_steps + static_cast<double>(promotions) * std::log1p(kU);
}

// What sums in fp16 lose that are subnormal there: each step's result is a multiple of 2^-24, and
// what a step loses grows with the error of later ones.
double of_subnormal_sums(const AccuracyInfo& info, std::int64_t K, double grown) {
  constexpr ElementType kNarrowSums = ElementType::f16;
  if (info.sum_bits != info_of(kNarrowSums).significand_bits) return 0;
  const std::int64_t steps = (K + kLeastProducts - 1) / kLeastProducts;
  return static_cast<double>(steps) * 2 * half_of_least(kNarrowSums) * (1 + grown);
}

// alpha, beta, their sum and the reference: each rounds to nearest.
constexpr int kScalings = 3, kReference = 1;

}  // namespace

ErrorBound error_bound(const Signature& signature, std::int64_t K, int sm) {
  const AccuracyInfo& info = info_of(signature.accuracy);
  double sums = (kScalings + kReference) * std::log1p(kU);
  if (!info.uses_tensor_cores) {
    sums = static_cast<double>(K + kScalings) * std::log1p(kU);
  } else if (info.sum_bits > 0) {
    sums += left_out(info) + tensor_core_sums(signature, K, tensor_core_of(sm));
  }
  ErrorBound bound;
  bound.sums = std::expm1(sums);
  bound.each = of_subnormal_sums(info, K, bound.sums);
  if (signature.d != kSumType) {
    bound.stored = unit_roundoff(signature.d);
    bound.least = half_of_least(signature.d);
  }
  return bound;
}

int exact_range(std::int64_t K, ElementType d) {
  const auto terms = static_cast<double>(std::max<std::int64_t>(K, 1));
  const auto exact = static_cast<double>(largest_exact_integer(kSumType));
  const auto exact_in_d = static_cast<double>(largest_exact_integer(d));
  int range = kLargestRange;
  const auto fits = [&] {
    const double deviation = range * (range + 1) / 3.0;  // of a product of two uniform numbers
    return range * range * terms <= exact && 4 * deviation * std::sqrt(terms) <= exact_in_d;
  };
  while (range > 1 && !fits()) --range;
  return range;
}

}  // namespace gemm_tune
