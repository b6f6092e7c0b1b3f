// SPDX-License-Identifier: Apache-2.0
// The numbers by which cuBLAS and cublasLt know types, as library_types.h and cublas_api.h declare
// them; gpu/cublas.cpp says why they are repeated. Pure; any thread.
#pragma once

#include "core/error.h"
#include "core/signature.h"

namespace gemm_tune::cublas_abi {

inline constexpr int kComputeF32 = 68;

// A cudaDataType.
inline int data_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 0;
    case ElementType::f64:
      return 1;
    case ElementType::f16:
      return 2;
    case ElementType::bf16:
      return 14;
  }
  throw DeviceError("an element type outside the closed list");
}

}  // namespace gemm_tune::cublas_abi
