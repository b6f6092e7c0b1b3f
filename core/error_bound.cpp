// SPDX-License-Identifier: Apache-2.0
#include "core/error_bound.h"

#include <algorithm>
#include <cmath>

#include "core/tensor_core.h"

namespace gemm_tune {
namespace {

constexpr double kU = unit_roundoff(ElementType::f32);
constexpr int kLargestRange = 4;
// The depth of the shallowest instruction for 16-bit operands, mma.m16n8k8.
constexpr int kLeastProducts = 8;

// How often a sum, its scaling and the reference round to nearest: fp32, K + 3 times.
double fp32_sums(std::int64_t K) { return std::expm1(static_cast<double>(K + 3) * std::log1p(kU)); }

// Steps that cut off, then alpha, beta, their sum and the reference.
double tensor_core_sums(std::int64_t K, const TensorCore& core) {
  const int products = std::min(core.products, kLeastProducts);
  const std::int64_t steps = (K + products - 1) / products;
  const double aligned = products * std::ldexp(1.0, -core.fraction_bits);
  return std::expm1(static_cast<double>(steps) * (std::log1p(aligned) + std::log1p(2 * kU)) +
                    4 * std::log1p(kU));
}

// Half of the type's least number above zero.
double half_of_least(ElementType type) { return type == ElementType::f16 ? 0x1p-25 : 0x1p-134; }

}  // namespace

ErrorBound error_bound(const Signature& signature, std::int64_t K, int sm) {
  ErrorBound bound;
  bound.sums =
      uses_tensor_cores(signature) ? tensor_core_sums(K, tensor_core_of(sm)) : fp32_sums(K);
  if (bytes_of(signature.d) < bytes_of(ElementType::f32)) {
    bound.stored = unit_roundoff(signature.d);
    bound.least = half_of_least(signature.d);
  }
  return bound;
}

int exact_range(std::int64_t K, ElementType d) {
  const auto terms = static_cast<double>(std::max<std::int64_t>(K, 1));
  const auto exact = static_cast<double>(largest_exact_integer(ElementType::f32));
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
