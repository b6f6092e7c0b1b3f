// SPDX-License-Identifier: Apache-2.0
// e4m3 on the host: bit patterns to and from float.
//
// A sign, 4 exponent bits with a bias of 7, 3 fraction bits; no infinity: all bits but the sign set
// are NaN, and the largest number is 448. Values round to nearest, ties to even; what is larger
// becomes 448, and a NaN becomes 0x7f. cvt.rn.satfinite does the same (PTX ISA 9.0, section "Data
// Movement and Conversion Instructions: cvt"). Pure; any thread.
#pragma once

#include <cmath>
#include <cstdint>

namespace gemm_tune {

inline constexpr std::uint8_t kNanE4m3 = 0x7f;
inline constexpr float kLargestE4m3 = 448;

// Exact.
inline float e4m3_to_float(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & kNanE4m3) == kNanE4m3) return std::nanf("");
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return bits >> 7 != 0 ? -magnitude : magnitude;
}

inline std::uint8_t e4m3_from_float(float value) {
  if (std::isnan(value)) return kNanE4m3;
  const int sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= kLargestE4m3) return static_cast<std::uint8_t>(sign | (kNanE4m3 - 1));
  // In units of the last bit: 2^-9 up to 2^-5, twice as much from each further power of two on.
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  const int unit = magnitude < 0x1p-6f ? -9 : exponent - 4;
  const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // 8 units are the bits of the least number that is not subnormal; a carry increments the
  // exponent.
  return static_cast<std::uint8_t>(sign | ((unit + 9) * 8 + units));
}

}  // namespace gemm_tune
