// SPDX-License-Identifier: Apache-2.0
// The table of accuracy classes: how the products of a result are made and added up.
//
// A class is a promise: core/types/error_bound.h derives the largest error from its row, and every
// kernel of the class is verified against that. A scheme that another one beats in speed and in
// error has no class: its names are aliases of the other one's. Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/types/accuracy_class.h"

namespace gemm_tune {

struct AccuracyInfo {
  const char* name;
  // XLA's and Triton's names, also those of schemes whose errors are larger; null behind them.
  const char* aliases[5];
  OperandKind operands;
  bool uses_tensor_cores;
  int parts_bits;     // significand bits that the parts of an operand keep; 0: all of them
  int products;       // instructions for one product of the operands' parts
  int promoted_each;  // k whose sums stay in the tensor cores before they are added in fp32; 0: all
  int sum_bits;       // significand bits of those sums: 24 for fp32; 0: exact
  const char* meaning;
  // Significand bits that the parts of a number keep where it is so small beside the largest one of
  // its row of A or column of B that they keep fewer than parts_bits; 0: there are none such.
  int least_bits = 0;
  int parts = 1;  // of an operand
};

// In the order of Accuracy.
inline constexpr AccuracyInfo kAccuracyTable[] = {
    {"fp32",
     {"F32_F32_F32", "ieee"},
     OperandKind::f32,
     false,
     0,
     1,
     0,
     24,
     "fp32 throughout, each step rounded once"},
    {"tf32", {"TF32_TF32_F32"}, OperandKind::f32, true, 11, 1, 0, 24, "operands rounded to tf32"},
    // Two bf16 parts make as many products, and keep 16 bits.
    {"fp32_f16x3",
     {"bf16x3", "BF16_BF16_F32_X3"},
     OperandKind::f32,
     true,
     22,
     3,
     16,
     24,
     "operands scaled and split into two f16 parts",
     17,
     2},
    // Three products of tf32 parts take as long as six of bf16, and their parts keep 22 bits.
    {"fp32_bf16x6",
     {"bf16x6", "BF16_BF16_F32_X6", "fp32_3xtf32", "tf32x3", "TF32_TF32_F32_X3"},
     OperandKind::f32,
     true,
     24,
     6,
     16,
     24,
     "operands split into three bf16 parts",
     0,
     3},
    {"sums_fp32",
     {},
     OperandKind::narrow_floating,
     true,
     0,
     1,
     0,
     24,
     "exact products, sums in fp32 as tensor cores round them"},
    {"sums_fp16",
     {},
     OperandKind::narrow_floating,
     true,
     0,
     1,
     32,
     11,
     "exact products, sums in fp16 that are promoted to fp32"},
    {"sums_s32", {}, OperandKind::whole, true, 0, 1, 0, 0, "exact products and sums in s32"},
};

constexpr const AccuracyInfo& info_of(Accuracy accuracy) {
  return kAccuracyTable[static_cast<int>(accuracy) - 1];
}
constexpr std::string_view to_string(Accuracy accuracy) { return info_of(accuracy).name; }

// Of a name or an alias; nothing for other texts.
std::optional<Accuracy> accuracy_named(std::string_view text);

// In which the drop-in computes fp32 products.
inline constexpr char kFp32AccuracyVariable[] = "GEMM_TUNE_BLAS_ACCURACY";

// The class of fp32 products that this variable's value names. Throws UsageError, with a sentence
// that begins with the variable, where it names none.
Accuracy fp32_accuracy_named(std::string_view value);

// "fp32, tf32, ...": all names.
std::string accuracy_names();

}  // namespace gemm_tune
