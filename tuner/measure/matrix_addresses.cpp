// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/matrix_addresses.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "gpu/error.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kArrays = 3;  // of A, of B, and of C and D

bool is_of_pointers(const Problem& problem) { return problem.batch_kind == BatchKind::pointers; }

const void* first_of(const void* array) {
  const void* first = nullptr;
  GT_CUDA(cudaMemcpy(&first, array, sizeof first, cudaMemcpyDeviceToHost));
  return first;
}

}  // namespace

std::size_t address_bytes(const Problem& problem) {
  return is_of_pointers(problem)
             ? kArrays * static_cast<std::size_t>(problem.batch) * sizeof(const void*)
             : 0;
}

GemmCall pointing(const GemmCall& call, void* arrays) {
  const Problem& p = call.problem;
  if (!is_of_pointers(p)) return call;
  std::vector<const void*> addresses;
  const auto add = [&](const void* first, std::int64_t stride, ElementType type) {
    for (std::int64_t entry = 0; entry < p.batch; ++entry) {
      addresses.push_back(static_cast<const char*>(first) + entry * stride * bytes_of(type));
    }
  };
  add(call.A, call.stride_a, p.signature.a);
  add(call.B, call.stride_b, p.signature.b);
  add(call.D, call.stride_c, p.signature.d);
  GT_CUDA(cudaMemcpy(arrays, addresses.data(), address_bytes(p), cudaMemcpyHostToDevice));
  GT_CUDA(cudaStreamSynchronize(cudaStreamLegacy));  // gpu/launch/memory.h says why
  auto* const a = static_cast<void**>(arrays);
  return in_place(call, a, a + p.batch, a + 2 * p.batch);
}

GemmCall pointed(const GemmCall& call) {
  if (!is_of_pointers(call.problem)) return call;
  return in_place(call, first_of(call.A), first_of(call.B), const_cast<void*>(first_of(call.D)));
}

}  // namespace gemm_tune
