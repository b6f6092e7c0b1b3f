// SPDX-License-Identifier: Apache-2.0
// A cuBLAS for tests: its handle's state is set by hand, and its functions record their calls.
//
// Built as libcublas.so.13 with cuBLAS's version node, so that programs bind to it as to the real
// one, and as libcublas.so.12; cublasLt is a library of its own, as the real one. Plain values; a
// handle may be used by many threads where only `calls` changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "tests/dispatch/preload/fakes/cublas_functions.h"

namespace gemm_tune {

inline constexpr int kFakeStatus = 42;  // of no real call, so that a test sees whose it is

struct FakeHandle {
  void* stream = nullptr;
  int pointer_mode = 0, math_mode = 0, sm_count_target = 0, emulation_strategy = 0;
  int getter_status = 0;
  std::optional<int> status;      // of every product; kFakeStatus without one
  bool calls_gemm_ex = false;     // sgemm then calls the exported cublasGemmEx, as cuBLAS may
  bool calls_lt = false;          // or cublasLt
  std::atomic<int> calls = 0;     // of any function
  const char* function = "none";  // the last, as exported
  std::int64_t m = 0, ldc = 0, batch = 0;  // of the last call
};

inline int record(void* handle, const char* function, std::int64_t m, std::int64_t ldc,
                  std::int64_t batch = 1) {
  auto* const fake = static_cast<FakeHandle*>(handle);
  ++fake->calls;
  fake->function = function;
  fake->m = m;
  fake->ldc = ldc;
  fake->batch = batch;
  return fake->status.value_or(kFakeStatus);
}

}  // namespace gemm_tune
