// SPDX-License-Identifier: Apache-2.0
// The signature of a product: the element types of its matrices and its accuracy class; and what
// follows from the table of types.
//
// Values; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types/accuracy.h"
#include "core/types/element_type.h"

namespace gemm_tune {

constexpr std::string_view to_string(ElementType type) { return info_of(type).name; }

// The type for which is_it(const TypeInfo&) holds, among those that a matrix may have.
template <class IsIt>
constexpr std::optional<ElementType> find_type(IsIt is_it) {
  for (int i = 0; i < kMatrixTypes; ++i) {
    if (is_it(kTypeTable[i])) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

// "f32, f16, ...": the names of all of these; another member's.
std::string type_names(const char* TypeInfo::*name = &TypeInfo::name);

// The largest relative error when a number that is not subnormal is rounded to the nearest value of
// the type: 2^-significand_bits. 0 for whole numbers.
constexpr double unit_roundoff(ElementType type) {
  if (!is_floating(type)) return 0;
  return 1.0 / static_cast<double>(std::int64_t{1} << info_of(type).significand_bits);
}

// Half of the type's least number above zero: the largest error of rounding near zero.
double half_of_least(ElementType type);

// The largest n such that every whole number from 0 to n is held exactly.
constexpr std::int64_t largest_exact_integer(ElementType type) {
  const std::int64_t beyond = std::int64_t{1} << info_of(type).significand_bits;
  return is_floating(type) ? beyond : beyond - 1;
}

struct Signature {
  ElementType a = ElementType::f32, b = ElementType::f32, c = ElementType::f32,
              d = ElementType::f32;
  Accuracy accuracy = Accuracy::fp32;

  friend auto operator<=>(const Signature&, const Signature&) = default;
};

constexpr Accuracy accuracy_of(ElementType ab) { return accuracy_of(ab, ab); }

// Whether the class is one for operands of these types.
constexpr bool has_class(ElementType a, ElementType b, Accuracy accuracy) {
  return info_of(accuracy).operands == kind_of_operands(a, b);
}

// The signature with one type for A and B and one for C and D; with one type for all matrices.
constexpr Signature signature_of(ElementType ab, ElementType cd) {
  return {ab, ab, cd, cd, accuracy_of(ab)};
}
constexpr Signature signature_of(ElementType type) { return signature_of(type, type); }

// Whether tensor cores multiply.
constexpr bool uses_tensor_cores(const Signature& signature) {
  return info_of(signature.accuracy).uses_tensor_cores;
}

// "f32" if all matrices have one type, else the types of A, B, C and D: "bf16/bf16/f32/f32". With
// an accuracy class other than accuracy_of(a, b) its name follows: "f32+tf32".
std::string to_string(const Signature& signature);

// The inverse of to_string; a class may be named by an alias. Throws UsageError naming the text.
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
