// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/preload/fakes/fake_cublas.h"

#include <string_view>
#include <tuple>

namespace {

using gemm_tune::FakeHandle;
using gemm_tune::record;

int get(void* handle, int FakeHandle::*field, int* value) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  *value = fake->*field;
  return fake->getter_status;
}

// The status of a product's call, which may call other functions first, as cuBLAS may.
int answer(void* handle, const char* function, std::int64_t m, std::int64_t ldc,
           std::int64_t products) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  if (std::string_view(function) == "cublasSgemm_v2" && fake->calls_gemm_ex) {
    fake->pointer_mode = 0;
    ++fake->calls;
    static constexpr float kScalar = 1;
    return cublasGemmEx(handle, 0, 0, static_cast<int>(m), 8, 8, &kScalar, fake, 0,
                        static_cast<int>(m), fake, 0, 8, &kScalar, fake, 0, static_cast<int>(ldc),
                        68, -1);
  }
  if (std::string_view(function) == "cublasSgemm_v2" && fake->calls_lt) {
    ++fake->calls;
    return cublasLtMatmul(handle, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr);
  }
  return record(handle, function, m, ldc, products);
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

#define GT_FUNCTION(Int, symbol, Scalar, type, batch, computing)                              \
  int symbol GT_CUBLAS_PARAMETERS(Int, Scalar, type, batch, computing) {                      \
    [[maybe_unused]] const auto all = std::tuple GT_CUBLAS_ARGUMENTS(type, batch, computing); \
    GT_COUNT_##batch;                                                                         \
    return answer(handle, #symbol, GT_FIRST_##batch(m), GT_FIRST_##batch(ldc), products);     \
  }
#define GT_COUNT_SINGLE constexpr int products = 1
#define GT_COUNT_STRIDED const std::int64_t products = batch
#define GT_COUNT_POINTERS const std::int64_t products = batch
#define GT_COUNT_GROUPS const std::int64_t products = GT_FIRST_GROUPS(batch)
#define GT_FIRST_SINGLE(x) x
#define GT_FIRST_STRIDED(x) x
#define GT_FIRST_POINTERS(x) x
#define GT_FIRST_GROUPS(x) (x == nullptr ? 0 : x[0])
#define GT_ROW(name, suffix, Scalar, type, batch, computing)     \
  GT_FUNCTION(int, name##suffix, Scalar, type, batch, computing) \
  GT_FUNCTION(std::int64_t, name##suffix##_64, Scalar, type, batch, computing)
GT_CUBLAS_FUNCTIONS(GT_ROW)
}
