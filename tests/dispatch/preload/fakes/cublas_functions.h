// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that the drop-in takes over, as cublas_api.h declares them but for the
// names of its types; gpu/cuda_libraries/cublas.cpp says why they are repeated.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // CUDA's

extern "C" {
int cublasCreate_v2(void** handle);
int cublasSgemm_v2(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* A, int lda, const float* B, int ldb, const float* beta, float* C,
                   int ldc);
int cublasSgemm_v2_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, const float* alpha, const float* A, std::int64_t lda,
                      const float* B, std::int64_t ldb, const float* beta, float* C,
                      std::int64_t ldc);
int cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                              const float* alpha, const float* A, int lda, long long stride_a,
                              const float* B, int ldb, long long stride_b, const float* beta,
                              float* C, int ldc, long long stride_c, int batch);
int cublasSgemmStridedBatched_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                                 std::int64_t k, const float* alpha, const float* A,
                                 std::int64_t lda, long long stride_a, const float* B,
                                 std::int64_t ldb, long long stride_b, const float* beta, float* C,
                                 std::int64_t ldc, long long stride_c, std::int64_t batch);
int cublasSgemmBatched(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                       const float* const* A, int lda, const float* const* B, int ldb,
                       const float* beta, float* const* C, int ldc, int batch);
int cublasSgemmBatched_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                          std::int64_t k, const float* alpha, const float* const* A,
                          std::int64_t lda, const float* const* B, std::int64_t ldb,
                          const float* beta, float* const* C, std::int64_t ldc, std::int64_t batch);
int cublasGemmBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                        const void* const* A, int type_a, int lda, const void* const* B, int type_b,
                        int ldb, const void* beta, void* const* C, int type_c, int ldc, int batch,
                        int compute_type, int algorithm);
int cublasGemmBatchedEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                           std::int64_t k, const void* alpha, const void* const* A, int type_a,
                           std::int64_t lda, const void* const* B, int type_b, std::int64_t ldb,
                           const void* beta, void* const* C, int type_c, std::int64_t ldc,
                           std::int64_t batch, int compute_type, int algorithm);
int cublasSgemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                  const void* A, int type_a, int lda, const void* B, int type_b, int ldb,
                  const float* beta, void* C, int type_c, int ldc);
int cublasSgemmEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                     std::int64_t k, const float* alpha, const void* A, int type_a,
                     std::int64_t lda, const void* B, int type_b, std::int64_t ldb,
                     const float* beta, void* C, int type_c, std::int64_t ldc);
int cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* A, int type_a, int lda, const void* B, int type_b, int ldb,
                 const void* beta, void* C, int type_c, int ldc, int compute_type, int algorithm);
int cublasGemmEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                    std::int64_t k, const void* alpha, const void* A, int type_a, std::int64_t lda,
                    const void* B, int type_b, std::int64_t ldb, const void* beta, void* C,
                    int type_c, std::int64_t ldc, int compute_type, int algorithm);
int cublasGemmStridedBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* A, int type_a, int lda,
                               long long stride_a, const void* B, int type_b, int ldb,
                               long long stride_b, const void* beta, void* C, int type_c, int ldc,
                               long long stride_c, int batch, int compute_type, int algorithm);
int cublasGemmStridedBatchedEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                                  std::int64_t k, const void* alpha, const void* A, int type_a,
                                  std::int64_t lda, long long stride_a, const void* B, int type_b,
                                  std::int64_t ldb, long long stride_b, const void* beta, void* C,
                                  int type_c, std::int64_t ldc, long long stride_c,
                                  std::int64_t batch, int compute_type, int algorithm);
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
