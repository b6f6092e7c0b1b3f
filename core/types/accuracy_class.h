// SPDX-License-Identifier: Apache-2.0
// The accuracy classes, and which of them operands have by their types. What a class promises is
// in the table of core/types/accuracy.h.
//
// Exported headers contain the lines between the braces below unchanged, as those of
// core/launch/launch_arithmetic.h: C++17, and no name from elsewhere. Values; any thread.
#pragma once

#include "core/types/element_type.h"

namespace gemm_tune {

// The numbers are those of gt_accuracy in the C ABI.
enum class Accuracy { fp32 = 1, tf32, fp32_f16x3, fp32_bf16x6, sums_fp32, sums_fp16, sums_s32 };

// Of what types A and B are; of two types that which comes first.
enum class OperandKind { f32, narrow_floating, whole };

constexpr OperandKind kind_of_operand(ElementType type) {
  if (!is_floating(type)) return OperandKind::whole;
  return info_of(type).bits < 32 ? OperandKind::narrow_floating : OperandKind::f32;
}

// Of two types: that of the wider range, f32 beside any other.
constexpr OperandKind kind_of_operands(ElementType a, ElementType b) {
  const OperandKind of_a = kind_of_operand(a), of_b = kind_of_operand(b);
  return of_a < of_b ? of_a : of_b;
}

// The class of products of these types where none is asked for.
constexpr Accuracy accuracy_of(ElementType a, ElementType b) {
  switch (kind_of_operands(a, b)) {
    case OperandKind::narrow_floating:
      return Accuracy::sums_fp32;
    case OperandKind::whole:
      return Accuracy::sums_s32;
    case OperandKind::f32:
      break;
  }
  return Accuracy::fp32;
}

}  // namespace gemm_tune
