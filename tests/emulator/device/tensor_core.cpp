// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace gemm_tune::emulator {
namespace {

constexpr int kM = 16, kN = 8, kMostK = 16;
constexpr int kFp32Fraction = 23, kFp32Bits = 24, kFp32LeastExponent = -126;
constexpr std::uint32_t kNanBits = 0x7fffffff;  // what an mma gives

// significand * 2^(exponent - fraction bits of its type): the exponent is that of the leading bit
// of a number that is not subnormal.
struct Number {
  std::int64_t significand = 0;
  int exponent = 0;
  float special = 0;  // infinity or NaN, else 0

  // The number as far as infinities and NaNs depend on it.
  float rough() const {
    if (special != 0) return special;
    return significand < 0 ? -1.0f : significand > 0 ? 1.0f : 0.0f;
  }
};

// Of a binary format with a sign, so many exponent bits, so many fraction bits. Without infinity
// the largest fraction of the largest exponent is the only NaN.
Number number_of(std::uint32_t bits, int exponent_bits, int fraction_bits,
                 bool has_infinity = true) {
  const int largest = (1 << exponent_bits) - 1, bias = largest / 2;
  const bool is_negative = (bits >> (exponent_bits + fraction_bits) & 1) != 0;
  const auto exponent = static_cast<int>(bits >> fraction_bits) & largest;
  std::int64_t significand = bits & ((1u << fraction_bits) - 1);
  const bool is_largest_fraction = significand == (1 << fraction_bits) - 1;
  if (exponent == largest && (has_infinity || is_largest_fraction)) {
    const float special = significand != 0 ? std::nanf("") : HUGE_VALF;
    return {0, 0, is_negative ? -special : special};
  }
  if (exponent != 0) significand |= std::int64_t{1} << fraction_bits;
  return {is_negative ? -significand : significand, std::max(exponent, 1) - bias, 0};
}

Number number_of(Float16Format format, std::uint16_t bits) {
  return number_of(bits, format.exponent_bits, format.fraction_bits);
}

Number number_of(const OperandFormat& format, std::uint32_t element) {
  const int bits = 1 + format.exponent_bits + format.fraction_bits;
  return number_of(element >> (8 * format.bytes - bits), format.exponent_bits, format.fraction_bits,
                   format.has_infinity);
}

// Of significand * 2^places what lies left of the point: cut off toward zero.
std::int64_t shifted(std::int64_t significand, int places) {
  if (places >= 0) return significand * (std::int64_t{1} << places);
  if (places <= -63) return 0;
  // A shift, not a division: sums are half of the time of a test of mma.
  const std::int64_t magnitude = std::abs(significand) >> -places;
  return significand < 0 ? -magnitude : magnitude;
}

// sum * 2^scale as fp32, cut off toward zero to so many bits.
float cut_off(std::int64_t sum, int scale, int kept_bits) {
  if (sum == 0) return 0;
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(sum))));
  const int dropped = std::max(bits - kept_bits, kFp32LeastExponent - kFp32Fraction - scale);
  if (dropped <= 0) return std::ldexp(static_cast<float>(sum), scale);
  return std::ldexp(static_cast<float>(shifted(sum, -dropped)), scale + dropped);
}

// sum * 2^scale rounded to f16, to nearest, ties to even.
float rounded_to_f16(std::int64_t sum, int scale) {
  const double value = std::ldexp(static_cast<double>(sum), scale);  // exact
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| < 2^exponent
  const int last_place = std::max(exponent - 11, -24);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);
  return std::abs(rounded) > 65504 ? std::copysign(HUGE_VALF, static_cast<float>(rounded))
                                   : static_cast<float>(rounded);
}

// One step: at most core.products numbers of each, their products' fraction bits twice fraction.
float step(const TensorCore& core, const Number* a, const Number* b, int count, int fraction,
           float so_far, bool in_f16 = false) {
  const Number sum = number_of(std::bit_cast<std::uint32_t>(so_far), 8, kFp32Fraction);
  bool is_special = sum.special != 0;
  for (int i = 0; i < count; ++i) {
    is_special = is_special || a[i].special != 0 || b[i].special != 0;
  }
  if (is_special) {
    float total = sum.rough();
    for (int i = 0; i < count; ++i) total += a[i].rough() * b[i].rough();
    return std::isnan(total) ? std::bit_cast<float>(kNanBits) : total;
  }
  constexpr int kNone = -10000;
  int largest = sum.significand != 0 ? sum.exponent : kNone;
  for (int i = 0; i < count; ++i) {
    if (a[i].significand == 0 || b[i].significand == 0) continue;
    largest = std::max(largest, a[i].exponent + b[i].exponent);
  }
  if (largest == kNone) return 0;
  std::int64_t total =
      shifted(sum.significand, core.fraction_bits - kFp32Fraction - (largest - sum.exponent));
  for (int i = 0; i < count; ++i) {
    const int below = largest - (a[i].exponent + b[i].exponent);
    total += shifted(a[i].significand * b[i].significand,
                     std::min(core.fraction_bits - 2 * fraction - below, 62));
  }
  if (in_f16) return rounded_to_f16(total, largest - core.fraction_bits);
  const int kept_bits = std::min(core.fraction_bits + 1, kFp32Bits);
  return cut_off(total, largest - core.fraction_bits, kept_bits);
}

float steps(const TensorCore& core, const Number* a, const Number* b, int count, int fraction,
            float sum, bool in_f16 = false) {
  for (int i = 0; i < count; i += core.products) {
    sum = step(core, a + i, b + i, std::min(core.products, count - i), fraction, sum, in_f16);
  }
  return sum;
}

// Lines of so many elements each.
struct Lines {
  // most: whole numbers up to this are small.
  Lines(const OperandFormat& format, int depth, int most, std::span<const std::uint32_t> elements) {
    numbers.reserve(elements.size());
    whole.reserve(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Number number = number_of(format, elements[i]);
      const double value = std::ldexp(static_cast<double>(number.significand),
                                      number.exponent - format.fraction_bits);
      const bool is_small =
          number.special == 0 && std::abs(value) <= most && std::trunc(value) == value;
      numbers.push_back(number);
      whole.push_back(is_small ? static_cast<std::int16_t>(value) : std::int16_t{0});
      if (i % static_cast<std::size_t>(depth) == 0) are_small.push_back(true);
      are_small.back() = are_small.back() && is_small;
    }
  }

  std::vector<Number> numbers;
  std::vector<std::int16_t> whole;  // the elements of lines that are small
  std::vector<char> are_small;      // a line's elements
};

// What a tensor core adds up exactly: the products of whole numbers up to `operand`, to a sum up to
// `sum`; their total is of less than kept bits.
struct Exact {
  int operand, sum;
};
Exact exact_of(const TensorCore& core) {
  if (core.fraction_bits >= 23) return {256, 1 << 22};
  return core.fraction_bits >= 13 ? Exact{8, 1 << 12} : Exact{0, 0};
}

// How the tensor core adds elements of so many bytes.
TensorCore core_for(const TensorCore& core, int bytes) {
  TensorCore own = core;
  own.products = core.products * 2 / bytes;
  if (bytes == 1) own.fraction_bits = core.fraction_bits_of_8;
  return own;
}

// Without sanitizers, which would forbid to take several elements at a time: tests mostly multiply
// whole numbers.
__attribute__((no_sanitize("address", "undefined"))) int dot(const std::int16_t* a,
                                                             const std::int16_t* b, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

float multiply_add(const TensorCore& core, Float16Format format, std::span<const std::uint16_t> a,
                   std::span<const std::uint16_t> b, float sum) {
  std::array<Number, kMostK> as, bs;
  const auto at_once = static_cast<std::size_t>(core.products);
  for (std::size_t i = 0; i < a.size(); i += at_once) {
    const std::size_t count = std::min(at_once, a.size() - i);
    for (std::size_t j = 0; j < count; ++j) {
      as[j] = number_of(format, a[i + j]);
      bs[j] = number_of(format, b[i + j]);
    }
    sum = step(core, as.data(), bs.data(), static_cast<int>(count), format.fraction_bits, sum);
  }
  return sum;
}

void multiply_add(const TensorCore& of_16_bits, const std::array<MmaOperands, kWarp>& operands,
                  const std::array<float*, kWarp>& sums) {
  Number a[kM][kMostK], b[kN][kMostK];  // B by its columns
  const OperandFormat format = operands[0].format;
  const int k = operands[0].k;
  const int in_register = 4 / format.bytes, of_quad = 4 * in_register;
  for (int lane = 0; lane < kWarp; ++lane) {
    const MmaOperands& of = operands[static_cast<std::size_t>(lane)];
    const int group = lane / 4, first = lane % 4 * in_register;
    for (int i = 0; i < in_register; ++i) {
      const auto number = [&](unsigned reg) {
        return number_of(format, reg >> (8 * format.bytes * i));
      };
      for (int r = 0; r < k / of_quad * 2; ++r) {
        a[group + r % 2 * 8][first + r / 2 * of_quad + i] =
            number(of.a[static_cast<std::size_t>(r)]);
      }
      for (int r = 0; r < k / of_quad; ++r) {
        b[group][first + r * of_quad + i] = number(of.b[static_cast<std::size_t>(r)]);
      }
    }
  }
  const TensorCore core = core_for(of_16_bits, format.bytes);
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int i = 0; i < 4; ++i) {
      float& sum = sums[static_cast<std::size_t>(lane)][i];
      const int row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
      sum = steps(core, a[row], b[col], k, format.fraction_bits, sum, operands[0].sums_in_f16);
    }
  }
}

void multiply_add(const TensorCore& of_16_bits, const OperandFormat& format,
                  std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::span<float> sums) {
  const TensorCore core = core_for(of_16_bits, format.bytes);
  const Exact exact = exact_of(core);
  const int depth = format.depth();
  const Lines rows(format, depth, exact.operand, a), cols(format, depth, exact.operand, b);
  const std::size_t count = cols.are_small.size(), length = static_cast<std::size_t>(depth);
  const auto most = static_cast<float>(exact.sum);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t row = i / count, col = i % count;
    float& sum = sums[i];
    if (exact.sum > 0 && rows.are_small[row] && cols.are_small[col] && std::abs(sum) <= most &&
        std::trunc(sum) == sum) {
      sum = static_cast<float>(static_cast<int>(sum) +
                               dot(&rows.whole[row * length], &cols.whole[col * length], depth));
    } else {
      sum = steps(core, &rows.numbers[row * length], &cols.numbers[col * length], depth,
                  format.fraction_bits, sum);
    }
  }
}

}  // namespace gemm_tune::emulator
