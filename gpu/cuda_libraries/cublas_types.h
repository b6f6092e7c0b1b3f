// SPDX-License-Identifier: Apache-2.0
// The numbers by which cuBLAS and cublasLt know types, as library_types.h and cublas_api.h declare
// them; gpu/cuda_libraries/cublas.cpp says why they are repeated. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem/epilogue.h"
#include "core/types/signature.h"

namespace gemm_tune::cublas_abi {

inline constexpr int kComputeF32 = 68, kPedanticComputeF32 = 69, kComputeTf32 = 77;

// What a library computes in for the accuracy class: fp32 where it has nothing of its own for it.
constexpr int compute_type(const Signature& types) {
  return types.accuracy == Accuracy::tf32 ? kComputeTf32 : kComputeF32;
}

constexpr int data_type(ElementType type) { return info_of(type).cuda_data_type; }

// The inverse, among the types that a matrix may have; nothing for other numbers.
inline std::optional<ElementType> element_type(std::int64_t data_type) {
  return find_type([&](const TypeInfo& type) { return type.cuda_data_type == data_type; });
}

// Whether all matrices are of f32. cublasSgemm computes in fp32, whose accuracy class is the best
// of those that such products have.
constexpr bool is_sgemm(const Signature& types) {
  Signature in_fp32 = types;
  in_fp32.accuracy = accuracy_of(types.a, types.b);
  return in_fp32 == Signature();
}

// Whether cuBLAS has a function for products of f32, or of these 16-bit operands: with sums in
// fp32, which satisfy each class that such products have.
constexpr bool has_function(const Signature& types) {
  const bool is_16_bits =
      info_of(types.a).bits == 16 && (types.d == types.a || types.d == kSumType);
  Signature with_sums_in_fp32 = types;
  with_sums_in_fp32.accuracy = accuracy_of(types.a);
  return is_sgemm(types) || (is_16_bits && with_sums_in_fp32 == signature_of(types.a, types.d));
}

// cublasLt's epilogues that are ours too, by its numbers (cublasLtEpilogue_t). Its bias is one for
// each row of a column-major D; its GELU is the approximation with tanh. What ReLU's auxiliary
// output holds, a bit mask, no kernel of ours writes.
struct LtEpilogue {
  int number;
  Epilogue epilogue;
};
inline constexpr LtEpilogue kLtEpilogues[] = {
    {1, {}},
    {2, *find_epilogue("relu")},
    {4, *find_epilogue("bias_row")},
    {6, *find_epilogue("bias_row+relu")},
    {32, *find_epilogue("gelu_tanh")},
    {36, *find_epilogue("bias_row+gelu_tanh")},
    {160, *find_epilogue("aux+gelu_tanh")},
    {164, *find_epilogue("bias_row+aux+gelu_tanh")},
};

constexpr std::optional<Epilogue> lt_epilogue(int number) {
  for (const LtEpilogue& one : kLtEpilogues) {
    if (one.number == number) return one.epilogue;
  }
  return std::nullopt;
}

// The inverse.
constexpr std::optional<int> lt_number(const Epilogue& epilogue) {
  for (const LtEpilogue& one : kLtEpilogues) {
    if (one.epilogue == epilogue) return one.number;
  }
  return std::nullopt;
}

}  // namespace gemm_tune::cublas_abi
