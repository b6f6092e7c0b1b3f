// SPDX-License-Identifier: Apache-2.0
// A cublasLt 13.1.0 without a GPU. It proposes four algorithms, of which the third has a trait that
// no attribute tells and the fourth a number that the library does not make itself; it refuses
// CTA tiles of number 99, and calls whose B is no multiple of 16 bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/runtime/fakes/fake_libraries.h"

namespace {

using gemm_tune::FakeAlgorithm;

constexpr int kNotSupported = 15;
constexpr std::size_t kProposals = 4;

FakeAlgorithm made(int id) {
  FakeAlgorithm algorithm{};
  algorithm.attributes[0] = static_cast<std::uint32_t>(id);
  algorithm.attributes[2] = 1;
  return algorithm;
}

struct Heuristic {
  FakeAlgorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

int& any_object() {
  static int object = 0;
  return object;
}

}  // namespace

namespace gemm_tune {
std::vector<FakeAlgorithm>& algorithms_run() {
  static std::vector<FakeAlgorithm> all;
  return all;
}
}  // namespace gemm_tune

extern "C" {

int cublasLtCreate(void** handle) {
  *handle = &any_object();
  return 0;
}
int cublasLtDestroy(void*) { return 0; }
int cublasLtGetProperty(int part, int* value) {
  constexpr int kVersion[] = {13, 1, 0};
  *value = kVersion[part];
  return 0;
}
const char* cublasLtGetStatusName(int) { return "a status"; }
int cublasLtMatmulDescCreate(void** made, int, int) { return cublasLtCreate(made); }
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulDescDestroy(void*) { return 0; }
int cublasLtMatrixLayoutCreate(void** made, int, std::uint64_t, std::uint64_t, std::int64_t) {
  return cublasLtCreate(made);
}
int cublasLtMatrixLayoutSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatrixLayoutDestroy(void*) { return 0; }
int cublasLtMatmulPreferenceCreate(void** made) { return cublasLtCreate(made); }
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulPreferenceDestroy(void*) { return 0; }

int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int id, FakeAlgorithm* algorithm) {
  if (id >= gemm_tune::kUnmakeable) return kNotSupported;
  *algorithm = made(id);
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const FakeAlgorithm* algorithm, int attribute, void* value,
                                         std::size_t bytes, std::size_t* written) {
  std::memcpy(value, &algorithm->attributes[attribute], bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatmulAlgoConfigSetAttribute(FakeAlgorithm* algorithm, int attribute, const void* value,
                                         std::size_t bytes) {
  if (algorithm->attributes[0] == 0) return kNotSupported;  // was not made
  std::memcpy(&algorithm->attributes[attribute], value, bytes);
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int most,
                                   Heuristic* found, int* count) {
  *count = 0;
  for (std::size_t i = 0; i < kProposals && *count < most; ++i) {
    Heuristic one{};
    one.algorithm = made(i == 3 ? gemm_tune::kUnmakeable : static_cast<int>(60 + i));
    one.algorithm.attributes[1] = static_cast<std::uint32_t>(20 + i);
    one.algorithm.attributes[8] = i == 1 ? 3 : 0;
    if (i == 2) one.algorithm.hidden[4] = 0xffff0001;
    one.workspace_bytes = i == 1 ? 4096 : 0;
    found[(*count)++] = one;
  }
  return 0;
}
int cublasLtMatmulAlgoCheck(void*, void*, void*, void*, void*, void*,
                            const FakeAlgorithm* algorithm, Heuristic* result) {
  constexpr std::uint32_t kRefused = 99;
  if (algorithm->attributes[1] == kRefused) return kNotSupported;
  result->algorithm = *algorithm;
  result->state = 0;
  return 0;
}
int cublasLtMatmul(void*, void*, const void*, const void* a, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const FakeAlgorithm* algorithm, void*,
                   std::size_t, void*) {
  if (reinterpret_cast<std::uintptr_t>(a) % 16 != 0) return kNotSupported;
  gemm_tune::algorithms_run().push_back(*algorithm);
  return 0;
}
}
