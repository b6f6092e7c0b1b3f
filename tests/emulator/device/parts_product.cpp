// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/parts_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types/float16.h"
#include "tests/emulator/device/tensor_core.h"

namespace gemm_tune::emulator {
namespace {

constexpr float kLowScale = 2048;
constexpr std::size_t kPaddedK = 64, kPromotedEach = 32, kDepth = 16;

// The parts of a line, padded by zeros, and what they count.
struct Line {
  std::vector<std::uint16_t> high, low;
  float factor = 1;

  explicit Line(std::span<const float> from)
      : high((from.size() + kPaddedK - 1) / kPaddedK * kPaddedK), low(high.size()) {
    float largest = 0;
    for (const float x : from) largest = std::max(largest, std::abs(x));
    int exponent = 0;
    if (largest > 0) {
      std::frexp(largest, &exponent);
      exponent = std::min(15 - exponent, 126);
    }
    factor = std::ldexp(1.0f, -exponent);
    for (std::size_t k = 0; k < from.size(); ++k) {
      const float scaled = from[k] * std::ldexp(1.0f, exponent);
      high[k] = from_float(kF16, scaled);
      low[k] = from_float(kF16, (scaled - to_float(kF16, high[k])) * kLowScale);
    }
  }
};

}  // namespace

float product_of_parts(const TensorCore& core, std::span<const float> a, std::span<const float> b,
                       float cut_off) {
  const Line left(a), right(b);
  const auto add = [&](const std::vector<std::uint16_t>& one,
                       const std::vector<std::uint16_t>& other, std::size_t k, float sum) {
    return multiply_add(core, kF16, std::span(one).subspan(k, kDepth),
                        std::span(other).subspan(k, kDepth), sum);
  };
  float total = 0;
  for (std::size_t first = 0; first < left.high.size(); first += kPromotedEach) {
    float sum = 0;
    for (std::size_t k = first; k < first + kPromotedEach; k += kDepth) {
      sum = add(left.low, right.high, k, sum);
      sum = add(left.high, right.low, k, sum);
    }
    sum *= 1 / kLowScale;
    for (std::size_t k = first; k < first + kPromotedEach; k += kDepth) {
      sum = add(left.high, right.high, k, sum);
    }
    total += sum;
  }
  if ((std::bit_cast<std::uint32_t>(total) & 15) != 0) total += cut_off * total;
  const auto [smaller, larger] = std::minmax(left.factor, right.factor);
  return total * smaller * larger;
}

float product_on_losing_line(std::span<const float> line, std::span<const float> other,
                             bool others_along_k, bool fused) {
  // Lanes have 4 numbers each, one lane's behind the other's, or every fourth one of 4 lanes.
  const std::size_t lanes = others_along_k ? 32 : 4, each = others_along_k ? 4 : 1;
  std::vector<float> sums(lanes);
  for (std::size_t k = 0; k < line.size(); ++k) {
    float& sum = sums[k / each % lanes];
    sum = fused ? std::fma(line[k], other[k], sum) : sum + line[k] * other[k];
  }
  for (std::size_t distance = lanes / 2; distance > 0; distance /= 2) {
    for (std::size_t lane = 0; lane < distance; ++lane) sums[lane] += sums[lane + distance];
  }
  return sums[0];
}

}  // namespace gemm_tune::emulator
