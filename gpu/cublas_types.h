// SPDX-License-Identifier: Apache-2.0
// The numbers by which cuBLAS and cublasLt know types, as library_types.h and cublas_api.h declare
// them; gpu/cublas.cpp says why they are repeated. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/signature.h"

namespace gemm_tune::cublas_abi {

inline constexpr int kComputeF32 = 68, kPedanticComputeF32 = 69;

// Of cudaDataType.
inline constexpr int kRealF32 = 0, kRealF64 = 1, kRealF16 = 2, kRealBf16 = 14;

inline int data_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return kRealF32;
    case ElementType::f64:
      return kRealF64;
    case ElementType::f16:
      return kRealF16;
    case ElementType::bf16:
      return kRealBf16;
  }
  throw DeviceError("an element type outside the closed list");
}

// The inverse; nothing for other numbers.
inline std::optional<ElementType> element_type(std::int64_t data_type) {
  switch (data_type) {
    case kRealF32:
      return ElementType::f32;
    case kRealF64:
      return ElementType::f64;
    case kRealF16:
      return ElementType::f16;
    case kRealBf16:
      return ElementType::bf16;
  }
  return std::nullopt;
}

}  // namespace gemm_tune::cublas_abi
