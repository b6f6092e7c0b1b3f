// SPDX-License-Identifier: Apache-2.0
// A call of the C interface as the library's own: the one place that reads gt_gemm_call.
//
// Inline: each call of gt_gemm reads one. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/problem/gemm_call.h"
#include "core/types/signature.h"
#include "dispatch/checked_call.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

// Bytes, of the memory that a gt_gemm_call gives to a graph.
inline constexpr std::uintptr_t kWorkspaceAlignment = 256;

// Throws UsageError naming the field. allowed: "GT_A or GT_B".
[[noreturn]] inline void refuse_value(const char* name, int value, const char* allowed) {
  throw UsageError(std::string(name) + " is " + std::to_string(value) + ": it must be " + allowed);
}

inline bool transposes(const char* name, gt_transpose value) {
  if (value != GT_NO_TRANSPOSE && value != GT_TRANSPOSE) {
    refuse_value(name, value, "GT_NO_TRANSPOSE or GT_TRANSPOSE");
  }
  return value == GT_TRANSPOSE;
}

inline Order order_of(gt_order value) {
  if (value != GT_ROW_MAJOR && value != GT_COLUMN_MAJOR) {
    refuse_value("call.order", value, "GT_ROW_MAJOR or GT_COLUMN_MAJOR");
  }
  return value == GT_ROW_MAJOR ? Order::row_major : Order::column_major;
}

// The types of the C interface have the numbers of the table, as its accuracy classes have.
constexpr gt_type c_type_of(ElementType type) { return static_cast<gt_type>(type); }
static_assert(c_type_of(ElementType::f32) == GT_F32 && c_type_of(ElementType::f16) == GT_F16 &&
              c_type_of(ElementType::bf16) == GT_BF16 && c_type_of(ElementType::e4m3) == GT_E4M3 &&
              c_type_of(ElementType::e5m2) == GT_E5M2 && c_type_of(ElementType::s8) == GT_S8 &&
              c_type_of(ElementType::s32) == GT_S32 && kMatrixTypes == GT_S32 + 1);
constexpr gt_accuracy c_accuracy_of(Accuracy accuracy) {
  return static_cast<gt_accuracy>(accuracy);
}
static_assert(std::size(gt_gemm_call{}.operands) == kMostOperands);
static_assert(c_accuracy_of(Accuracy::fp32) == GT_ACCURACY_FP32 &&
              c_accuracy_of(Accuracy::tf32) == GT_ACCURACY_TF32 &&
              c_accuracy_of(Accuracy::fp32_f16x3) == GT_ACCURACY_FP32_F16X3 &&
              c_accuracy_of(Accuracy::fp32_bf16x6) == GT_ACCURACY_FP32_BF16X6 &&
              c_accuracy_of(Accuracy::sums_fp32) == GT_ACCURACY_SUMS_FP32 &&
              c_accuracy_of(Accuracy::sums_fp16) == GT_ACCURACY_SUMS_FP16 &&
              c_accuracy_of(Accuracy::sums_s32) == GT_ACCURACY_SUMS_S32);

inline ElementType element_type_of(const char* name, gt_type value) {
  if (value < 0 || value >= kMatrixTypes) refuse_value(name, value, "a gt_type");
  return static_cast<ElementType>(value);
}

inline Epilogue epilogue_of(gt_epilogue value) {
  if (value == 0) return {};
  if (const auto epilogue = Epilogue::of_bits(value)) return *epilogue;
  throw UsageError("call.epilogue is " + std::to_string(value) +
                   ": it must be 0 or what gt_epilogue_named() returns for a known text");
}

inline BatchKind batch_kind_of(gt_batch_kind value) {
  if (value != GT_STRIDED && value != GT_POINTERS) {
    refuse_value("call.batch_kind", value, "GT_STRIDED or GT_POINTERS");
  }
  return value == GT_STRIDED ? BatchKind::strided : BatchKind::pointers;
}

inline Accuracy accuracy_of(gt_accuracy value, ElementType a, ElementType b) {
  if (value == GT_ACCURACY_OF_TYPES) return accuracy_of(a, b);
  if (value < GT_ACCURACY_OF_TYPES || value > GT_ACCURACY_SUMS_S32) {
    refuse_value("call.accuracy", value, "a gt_accuracy");
  }
  const auto accuracy = static_cast<Accuracy>(value);
  if (has_class(a, b, accuracy)) return accuracy;
  throw UsageError("call.accuracy is " + std::string(to_string(accuracy)) +
                   ", which is no class of " + std::string(to_string(a)) +
                   (a == b ? "" : " and " + std::string(to_string(b))) + " operands");
}

// Families say which of these have kernels: is_served().
inline Signature signature_of(const gt_gemm_call& asked) {
  const ElementType a = element_type_of("call.type_a", asked.type_a);
  const ElementType b = element_type_of("call.type_b", asked.type_b);
  return {a, b, element_type_of("call.type_c", asked.type_c),
          element_type_of("call.type_d", asked.type_d), accuracy_of(asked.accuracy, a, b)};
}

// A version of the library has one size of a struct that begins with its size. A later version will
// read the fields that an earlier one had, and take zeros for the others.
template <class T>
void check_size(const T& given, const char* name, const char* type, const char* init) {
  if (given.size == sizeof(T)) return;
  throw UsageError(std::string(name) + ".size is " + std::to_string(given.size) +
                   ": set it to sizeof(" + type + ") of this version's header, as " + init +
                   " does");
}

// The call in row-major terms, checked: its problem has the alignment of its matrices, and a C that
// is not read is D. Throws UsageError.
inline GemmCall row_major_call(const gt_gemm_call& asked, Addresses addresses) {
  check_size(asked, "call", "gt_gemm_call", "GT_GEMM_CALL_INIT");
  const Order order = order_of(asked.order);
  // All fields at once: to zero them first would take as long as to check them.
  GemmCall call = {
      .problem = {.signature = signature_of(asked),
                  .M = asked.M,
                  .N = asked.N,
                  .K = asked.K,
                  .layout = layout_of(transposes("call.trans_a", asked.trans_a),
                                      transposes("call.trans_b", asked.trans_b)),
                  .alignment = {},
                  .batch = asked.batch,
                  .batch_kind = batch_kind_of(asked.batch_kind),
                  .epilogue = epilogue_of(asked.epilogue)},
      .alpha = asked.alpha,
      .beta = asked.beta,
      .A = asked.A,
      .B = asked.B,
      .C = asked.C,
      .D = asked.D,
      .lda = asked.lda,
      .ldb = asked.ldb,
      .ldc = asked.ldc,
      .stride_a = asked.stride_a,
      .stride_b = asked.stride_b,
      .stride_c = asked.stride_c,
      .operands = std::to_array(asked.operands),
  };
  check(call, order, addresses);
  make_row_major(call, order);
  if (call.beta == 0) call.C = call.D;
  call.problem.alignment = alignment_of(call);
  return call;
}

}  // namespace gemm_tune
