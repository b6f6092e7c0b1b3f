// SPDX-License-Identifier: Apache-2.0
// The signature of a product: the element types of its matrices and its accuracy.
//
// No other file knows the size of an element. Values; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/launch_arithmetic.h"

namespace gemm_tune {

constexpr int bytes_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::f32:
      return 4;
    case ElementType::f64:
      return 8;
  }
  return 0;
}

// Bits of a number's significand, the leading one included.
constexpr int significand_bits(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return 11;
    case ElementType::bf16:
      return 8;
    case ElementType::f32:
      return 24;
    case ElementType::f64:
      return 53;
  }
  return 0;
}

// The largest relative error when a number that is not subnormal is rounded to the nearest value of
// the type: 2^-significand_bits.
constexpr double unit_roundoff(ElementType type) {
  return 1.0 / static_cast<double>(std::int64_t{1} << significand_bits(type));
}

// The largest n such that every whole number from 0 to n is held exactly.
constexpr std::int64_t largest_exact_integer(ElementType type) {
  return std::int64_t{1} << significand_bits(type);
}

// "f32", "f16", "bf16", "f64".
std::string_view to_string(ElementType type);

// The accuracy that a result promises. fp32: products and sums rounded as fp32 rounds them. mixed:
// 16-bit operands as they are, sums in fp32 as tensor cores round them.
enum class Accuracy { fp32, mixed };

struct Signature {
  ElementType a = ElementType::f32, b = ElementType::f32, c = ElementType::f32,
              d = ElementType::f32;
  Accuracy accuracy = Accuracy::fp32;

  friend auto operator<=>(const Signature&, const Signature&) = default;
};

// The signature with one type for A and B and one for C and D; with one type for all matrices.
constexpr Signature signature_of(ElementType ab, ElementType cd) {
  return {ab, ab, cd, cd, bytes_of(ab) == 2 ? Accuracy::mixed : Accuracy::fp32};
}
constexpr Signature signature_of(ElementType type) { return signature_of(type, type); }

// Whether tensor cores multiply.
constexpr bool uses_tensor_cores(const Signature& signature) {
  return signature.accuracy == Accuracy::mixed;
}

// Whether a kernel may have the signature: A and B of one type, C and D of one type, f32 or the
// operands' 16-bit type. A family may have some of these (KernelFamily::supports()).
constexpr bool is_offered(const Signature& signature) {
  const ElementType ab = signature.a, cd = signature.d;
  const bool of_one_type = ab == ElementType::f32 && cd == ElementType::f32;
  const bool of_16_bits = bytes_of(ab) == 2 && (cd == ab || cd == ElementType::f32);
  return signature == signature_of(ab, cd) && (of_one_type || of_16_bits);
}

// "f32" if all matrices have one type, else the types of A, B, C and D: "bf16/bf16/f32/f32".
std::string to_string(const Signature& signature);

// The inverse of to_string for signatures that are offered. Throws UsageError naming the text.
Signature parse_signature(std::string_view text);

// The widest access, a 16-byte vector. Alignment beyond it is not counted.
inline constexpr int kWidestAccessBytes = 16;

// The largest power of two, at most kWidestAccessBytes, that divides `bytes`; kWidestAccessBytes
// for 0. Precondition: `bytes` was not negative.
constexpr int alignment_of(std::uint64_t bytes) {
  const std::uint64_t bits = bytes | kWidestAccessBytes;
  return static_cast<int>(bits & (~bits + 1));
}

}  // namespace gemm_tune
