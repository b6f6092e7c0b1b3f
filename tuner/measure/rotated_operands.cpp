// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/rotated_operands.h"

#include <utility>

#include "tuner/measure/matrix_addresses.h"
#include "tuner/measure/sampling.h"

namespace gemm_tune {
namespace {

// Up to the alignment of cudaMalloc, which the original has as well.
std::size_t padded(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::optional<RotatedOperands> rotate_operands(const GemmCall& call, std::int64_t l2_bytes,
                                               const Stream& stream) {
  const GemmCall original = pointed(call);
  Matrices stored_d = matrices_c(original);
  stored_d.guard = 0;
  const std::size_t a = matrices_a(original).bytes(), b = matrices_b(original).bytes();
  const std::size_t d = stored_d.bytes();
  const std::size_t addresses = address_bytes(call.problem);
  const std::size_t all = padded(a) + padded(b) + padded(d) + padded(addresses);
  std::size_t free_bytes = 0, total_bytes = 0;
  GT_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const auto copies =
      cold_copies(static_cast<std::int64_t>(all), l2_bytes, static_cast<std::int64_t>(free_bytes));
  if (!copies) return std::nullopt;

  RotatedOperands rotated;
  try {
    rotated.memory = DeviceBuffer<char>(static_cast<std::size_t>(*copies - 1) * all);
  } catch (const CudaError& error) {
    // Another process was faster.
    if (error.code() != cudaErrorMemoryAllocation) throw;
    return std::nullopt;
  }
  rotated.copies.assign(static_cast<std::size_t>(*copies), call);
  char* next = rotated.memory.data();
  const auto copy_of = [&](const void* operand, std::size_t size) {
    GT_CUDA(cudaMemcpyAsync(next, operand, size, cudaMemcpyDeviceToDevice, stream.get()));
    return std::exchange(next, next + padded(size));
  };
  for (std::size_t i = 1; i < rotated.copies.size(); ++i) {
    GemmCall& copy = rotated.copies[i];
    const void *A = copy_of(original.A, a), *B = copy_of(original.B, b);
    copy = in_place(original, A, B, std::exchange(next, next + padded(d)));
    copy = pointing(copy, std::exchange(next, next + padded(addresses)));
  }
  stream.synchronize();
  return rotated;
}

}  // namespace gemm_tune
