// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/preload/fakes/fake_cublas.h"

namespace {

using gemm_tune::FakeHandle;
using gemm_tune::record;

int get(void* handle, int FakeHandle::*field, int* value) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  *value = fake->*field;
  return fake->getter_status;
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  *handle = new FakeHandle;
  return 0;
}

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
  if (fake->calls_lt) {
    ++fake->calls;
    return cublasLtMatmul(handle, nullptr, alpha, A, nullptr, B, nullptr, beta, C, nullptr, C,
                          nullptr, nullptr, nullptr, 0, nullptr);
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
int cublasSgemmBatched(void* handle, int, int, int m, int, int, const float*, const float* const*,
                       int, const float* const*, int, const float*, float* const*, int ldc,
                       int batch) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasSgemmBatched_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t,
                          const float*, const float* const*, std::int64_t, const float* const*,
                          std::int64_t, const float*, float* const*, std::int64_t ldc,
                          std::int64_t batch) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasGemmBatchedEx(void* handle, int, int, int m, int, int, const void*, const void* const*,
                        int, int, const void* const*, int, int, const void*, void* const*, int,
                        int ldc, int batch, int, int) {
  return record(handle, __func__, m, ldc, batch);
}
int cublasGemmBatchedEx_64(void* handle, int, int, std::int64_t m, std::int64_t, std::int64_t,
                           const void*, const void* const*, int, std::int64_t, const void* const*,
                           int, std::int64_t, const void*, void* const*, int, std::int64_t ldc,
                           std::int64_t batch, int, int) {
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
}
