// SPDX-License-Identifier: Apache-2.0
#include "dispatch/refinement.h"

#include <cstddef>

namespace gemm_tune {
namespace {

// From the first element of the first D to the last of the last.
std::size_t bytes_of_d(const GemmCall& call) {
  const Problem& p = call.problem;
  const std::int64_t elements = (p.batch - 1) * call.stride_c + (p.M - 1) * call.ldc + p.N;
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_of(p.signature.d));
}

}  // namespace

Refinement::Refinement(const GemmCall& call, cudaStream_t stream, double limit_ms)
    : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double, std::milli>(limit_ms))),
      stream_(stream),
      D_(bytes_of_d(call) + kWidestAccessBytes),
      call_(call) {
  // As far from a multiple of the widest access as the caller's.
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(call.D) % kWidestAccessBytes;
  call_.D = D_.data() + offset;
  if (call.C == call.D) call_.C = call_.D;
  D_.fill_bytes(0, stream);
}

}  // namespace gemm_tune
