// SPDX-License-Identifier: Apache-2.0
// What a product's matrices hold and what its result promises: element types, accuracy, epilogue.
//
// The one place that knows how long an element is. The program offers fp32 only; the other types
// are here so that nothing else has to assume it. Values; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace gemm_tune {

// f64: of reference results only.
enum class ElementType { f32, f16, bf16, f64 };

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

// The largest relative error of rounding a number to the type, to nearest, where it is not
// subnormal: 2^-significand_bits.
constexpr double unit_roundoff(ElementType type) {
  return 1.0 / static_cast<double>(std::int64_t{1} << significand_bits(type));
}

// Every whole number up to this one is held exactly, the next one is not.
constexpr std::int64_t largest_exact_integer(ElementType type) {
  return std::int64_t{1} << significand_bits(type);
}

// "f32", "f16", "bf16", "f64".
std::string_view to_string(ElementType type);

// What a result promises. fp32: products and sums rounded as fp32 rounds them.
enum class Accuracy { fp32 };

// What happens to alpha * op(A) * op(B) + beta * C before it is stored as D.
enum class Epilogue { none };

struct Signature {
  ElementType a = ElementType::f32, b = ElementType::f32, c = ElementType::f32,
              d = ElementType::f32;
  Accuracy accuracy = Accuracy::fp32;
  Epilogue epilogue = Epilogue::none;

  friend auto operator<=>(const Signature&, const Signature&) = default;
};

// Every matrix of one type.
constexpr Signature signature_of(ElementType type) { return {type, type, type, type}; }

// "f32" where all matrices are of one type, else that of A, B, C and D: "bf16/bf16/f32/f32".
std::string to_string(const Signature& signature);

// The widest access that alignment is counted for: a 16-byte vector.
inline constexpr int kWidestAccessBytes = 16;

// The largest power of two, at most kWidestAccessBytes, that divides so many bytes; of 0 the
// widest. Precondition: not negative.
constexpr int alignment_of(std::uint64_t bytes) {
  const std::uint64_t bits = bytes | kWidestAccessBytes;
  return static_cast<int>(bits & (~bits + 1));
}

}  // namespace gemm_tune
