// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tests/dispatch/preload/fakes/fake_cublas.h"

extern "C" {

// The descriptors of cublasLt: an attribute is a word. As in the real one, the last is padding.
std::size_t cublasLtGetVersion() { return 130100; }

int cublasLtMatmulDescInit_internal(void* descriptor, std::size_t bytes, int compute_type,
                                    int scale_type) {
  if (bytes != 256) return gemm_tune::kFakeStatus;
  auto* const words = static_cast<std::int64_t*>(descriptor);
  std::fill_n(words, 31, 0);
  words[0] = compute_type;
  words[1] = scale_type;
  words[7] = 1;
  words[22] = words[26] = 0xffffffff;  // -1
  return 0;
}
int cublasLtMatrixLayoutInit_internal(void* layout, std::size_t bytes, int type, std::uint64_t rows,
                                      std::uint64_t columns, std::int64_t ld) {
  if (bytes != 64) return gemm_tune::kFakeStatus;
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
  return gemm_tune::record(handle, __func__, 0, static_cast<std::int64_t>(workspace_bytes));
}
}
