// SPDX-License-Identifier: Apache-2.0
// The 16-bit element types on the host: their bit patterns to and from float.
//
// Values round to nearest, ties to even. A value that rounds beyond the largest number becomes
// infinity; subnormal numbers are kept; a NaN becomes 0x7fff. cvt.rn does the same (PTX ISA 9.0,
// section "Data Movement and Conversion Instructions: cvt"), so host, emulator and GPU agree bit
// for bit. Constexpr and pure; any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace gemm_tune {

// How a 16-bit floating-point type divides its bits: a sign, the exponent, the fraction.
struct Float16Format {
  int exponent_bits, fraction_bits;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

inline constexpr Float16Format kF16 = {5, 10};
inline constexpr Float16Format kBf16 = {8, 7};

inline constexpr std::uint16_t kNan16 = 0x7fff;  // the NaN that rounding gives, in both formats

// Exact. A NaN keeps its sign and fraction.
constexpr float to_float(Float16Format format, std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31;
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const std::uint32_t exponent = (bits & 0x7fffu) >> format.fraction_bits;
  const std::uint32_t in_place = fraction << (23 - format.fraction_bits);
  if (exponent == (1u << format.exponent_bits) - 1) {
    return std::bit_cast<float>(sign | 0x7f800000u | in_place);
  }
  const int rebias = 127 - format.bias();
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + static_cast<std::uint32_t>(rebias)) << 23) |
                                in_place);
  }
  if (rebias == 0 || fraction == 0) return std::bit_cast<float>(sign | in_place);
  // A subnormal 16-bit number is a normal float: the fraction times a power of two.
  const float unit =
      std::bit_cast<float>(static_cast<std::uint32_t>(rebias + 1 - format.fraction_bits) << 23);
  const float magnitude = static_cast<float>(fraction) * unit;
  return sign != 0 ? -magnitude : magnitude;
}

constexpr std::uint16_t from_float(Float16Format format, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 31 << 15);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kNan16;
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  const int dropped = 23 - format.fraction_bits;
  const int rebias = 127 - format.bias();
  const int exponent = static_cast<int>(magnitude >> 23) - rebias;  // biased, in the format
  if (magnitude == 0x7f800000u) return static_cast<std::uint16_t>(sign | infinity);
  std::uint32_t kept = 0, shift = static_cast<std::uint32_t>(dropped);
  if (exponent > 0 || rebias == 0) {
    kept = magnitude - (static_cast<std::uint32_t>(rebias) << 23);
  } else {
    // The result is subnormal: the float's fraction with its leading one, shifted further. Beyond
    // 24 places nothing is left to round.
    kept = (magnitude & 0x7fffffu) | (magnitude >> 23 != 0 ? 0x800000u : 0);
    shift += static_cast<std::uint32_t>(1 - exponent);
    if (shift > 24) return sign;
  }
  const std::uint32_t half = 1u << (shift - 1), rest = kept & (2 * half - 1);
  std::uint32_t rounded = kept >> shift;
  // A carry out of the fraction increments the exponent; the largest number becomes infinity.
  if (rest > half || (rest == half && rounded % 2 != 0)) ++rounded;
  return static_cast<std::uint16_t>(sign | (rounded < infinity ? rounded : infinity));
}

}  // namespace gemm_tune
