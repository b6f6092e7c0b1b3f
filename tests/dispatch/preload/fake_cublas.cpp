// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/preload/fake_cublas.h"

#include <algorithm>
#include <cstring>

namespace {

using gemm_tune::FakeHandle;

constexpr int kStatus = 42;  // of no real call, so that a test sees whose it is

int record(void* handle, const char* function, std::int64_t m, std::int64_t ldc,
           std::int64_t batch = 1) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  ++fake->calls;
  fake->function = function;
  fake->m = m;
  fake->ldc = ldc;
  fake->batch = batch;
  return kStatus;
}

int get(void* handle, int FakeHandle::*field, int* value) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  *value = fake->*field;
  return fake->getter_status;
}

}  // namespace

extern "C" {

int cublasGetStream_v2(void* handle, CUstream_st** stream) {
  *stream = static_cast<CUstream_st*>(static_cast<FakeHandle*>(handle)->stream);
  return 0;
}
int cublasGetPointerMode_v2(void* handle, int* value) {
  return get(handle, &FakeHandle::pointer_mode, value);
}
int cublasGetMathMode(void* handle, int* value) {
  return get(handle, &FakeHandle::math_mode, value);
}
int cublasGetSmCountTarget(void* handle, int* value) {
  return get(handle, &FakeHandle::sm_count_target, value);
}
int cublasGetEmulationStrategy(void* handle, int* value) {
  return get(handle, &FakeHandle::emulation_strategy, value);
}

int cublasSgemm_v2(void* handle, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* A, int lda, const float* B, int ldb, const float* beta, float* C,
                   int ldc) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  if (fake->calls_gemm_ex) {
    fake->pointer_mode = 0;
    ++fake->calls;
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, A, 0, lda, B, 0, ldb, beta, C, 0, ldc,
                        68, -1);
  }
  return record(handle, __func__, m, ldc);
}
int cublasSgemm_v2_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t,
                      const float*, const float*, std::int64_t, const float*, std::int64_t,
                      const float*, float*, std::int64_t ldc) {
  return record(handle, __func__, m, ldc);
}
int cublasSgemmStridedBatched(void* handle, int, int, int m, int, int, const float*, const float*,
                              int, long long, const float*, int, long long, const float*, float*,
                              int ldc, long long, int batch) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasSgemmStridedBatched_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t,
                                 const float*, const float*, std::int64_t, long long, const float*,
                                 std::int64_t, long long, const float*, float*, std::int64_t ldc,
                                 long long, std::int64_t batch) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasSgemmEx(void* handle, int, int, int m, int, int, const float*, const void*, int, int,
                  const void*, int, int, const float*, void*, int, int ldc) {
  return record(handle, __func__, m, ldc);
}
int cublasSgemmEx_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t,
                     const float*, const void*, int, std::int64_t, const void*, int, std::int64_t,
                     const float*, void*, int, std::int64_t ldc) {
  return record(handle, __func__, m, ldc);
}
int cublasGemmEx(void* handle, int, int, int m, int, int, const void*, const void*, int, int,
                 const void*, int, int, const void*, void*, int, int ldc, int, int) {
  return record(handle, __func__, m, ldc);
}
int cublasGemmEx_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t, const void*,
                    const void*, int, std::int64_t, const void*, int, std::int64_t, const void*,
                    void*, int, std::int64_t ldc, int, int) {
  return record(handle, __func__, m, ldc);
}
int cublasGemmStridedBatchedEx(void* handle, int, int, int m, int, int, const void*, const void*,
                               int, int, long long, const void*, int, int, long long, const void*,
                               void*, int, int ldc, long long, int batch, int, int) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasGemmStridedBatchedEx_64(void* handle, int, int, std::int64_t m, std::int64_t,
                                  std::int64_t, const void*, const void*, int, std::int64_t,
                                  long long, const void*, int, std::int64_t, long long, const void*,
                                  void*, int, std::int64_t ldc, long long, std::int64_t batch, int,
                                  int) {
  return record(handle, __func__, m, ldc, batch);
}

// The descriptors of cublasLt: an attribute is a word. As in the real one, the last is padding.
std::size_t cublasLtGetVersion() { return 130100; }

int cublasLtMatmulDescInit_internal(void* descriptor, std::size_t bytes, int compute_type,
                                    int scale_type) {
  if (bytes != 256) return kStatus;
  auto* const words = static_cast<std::int64_t*>(descriptor);
  std::fill_n(words, 31, 0);
  words[0] = compute_type;
  words[1] = scale_type;
  words[7] = 1;
  words[26] = 0xffffffff;  // -1
  return 0;
}
int cublasLtMatrixLayoutInit_internal(void* layout, std::size_t bytes, int type, std::uint64_t rows,
                                      std::uint64_t columns, std::int64_t ld) {
  if (bytes != 64) return kStatus;
  auto* const words = static_cast<std::int64_t*>(layout);
  std::fill_n(words, 7, 0);
  words[0] = type;
  words[2] = static_cast<std::int64_t>(rows);
  words[3] = static_cast<std::int64_t>(columns);
  words[4] = ld;
  words[5] = 1;
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* descriptor, int attribute, const void* value,
                                   std::size_t bytes) {
  std::memcpy(static_cast<std::int64_t*>(descriptor) + attribute, value, bytes);
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes) {
  return cublasLtMatmulDescSetAttribute(layout, attribute, value, bytes);
}
int cublasLtMatmulDescGetAttribute(const void* descriptor, int attribute, void* value,
                                   std::size_t bytes, std::size_t* written) {
  std::memcpy(value, static_cast<const std::int64_t*>(descriptor) + attribute, bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatrixLayoutGetAttribute(const void* layout, int attribute, void* value,
                                     std::size_t bytes, std::size_t* written) {
  return cublasLtMatmulDescGetAttribute(layout, attribute, value, bytes, written);
}

int cublasLtMatmul(void* handle, const void*, const void*, const void*, const void*, const void*,
                   const void*, const void*, const void*, const void*, void*, const void*,
                   const void*, void*, std::size_t workspace_bytes, CUstream_st*) {
  return record(handle, __func__, 0, static_cast<std::int64_t>(workspace_bytes));
}
}
