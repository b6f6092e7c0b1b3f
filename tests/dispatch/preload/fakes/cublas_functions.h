// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that the drop-in takes over, those of reference results, and what makes
// cublasLt's descriptors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/problem/cublas_functions.h"

struct CUstream_st;  // CUDA's

extern "C" {
int cublasCreate_v2(void** handle);
#define GT_ROW(name, suffix, Scalar, type, batch, computing)                  \
  int name##suffix GT_CUBLAS_PARAMETERS(int, Scalar, type, batch, computing); \
  int name##suffix##_64 GT_CUBLAS_PARAMETERS(std::int64_t, Scalar, type, batch, computing);
GT_CUBLAS_FUNCTIONS(GT_ROW)
#undef GT_ROW
int cublasLtMatmul(void* handle, const void* descriptor, const void* alpha, const void* A,
                   const void* layout_a, const void* B, const void* layout_b, const void* beta,
                   const void* C, const void* layout_c, void* D, const void* layout_d,
                   const void* algorithm, void* workspace, std::size_t workspace_bytes,
                   CUstream_st* stream);
int cublasLtMatmulDescInit_internal(void* descriptor, std::size_t bytes, int compute_type,
                                    int scale_type);
int cublasLtMatmulDescSetAttribute(void* descriptor, int attribute, const void* value,
                                   std::size_t bytes);
int cublasLtMatrixLayoutInit_internal(void* layout, std::size_t bytes, int type, std::uint64_t rows,
                                      std::uint64_t columns, std::int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes);
}
