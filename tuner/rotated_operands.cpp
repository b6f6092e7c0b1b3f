// SPDX-License-Identifier: Apache-2.0
#include "tuner/rotated_operands.h"

#include <utility>

#include "tuner/sampling.h"

namespace gemm_tune {
namespace {

// Floats of an operand, up to the alignment of cudaMalloc, which the original has as well.
std::size_t padded_size(const Matrices& matrices) {
  constexpr std::size_t kFloats = 64;
  return (matrices.size() + kFloats - 1) / kFloats * kFloats;
}

void copy_operand(float* to, const float* from, const Matrices& matrices, const Stream& stream) {
  GT_CUDA(cudaMemcpyAsync(to, from, matrices.size() * sizeof(float), cudaMemcpyDeviceToDevice,
                          stream.get()));
}

}  // namespace

std::optional<RotatedOperands> rotate_operands(const GemmArgs& original, const Shape& shape,
                                               std::int64_t l2_bytes, const Stream& stream) {
  const Matrices stored_a = matrices_a(shape), stored_b = matrices_b(shape);
  Matrices stored_c = matrices_c(shape);
  stored_c.guard = 0;
  const std::size_t a = padded_size(stored_a), b = padded_size(stored_b), c = padded_size(stored_c);
  std::size_t free_bytes = 0, total_bytes = 0;
  GT_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const auto copies = cold_copies(static_cast<std::int64_t>((a + b + c) * sizeof(float)), l2_bytes,
                                  static_cast<std::int64_t>(free_bytes));
  if (!copies) return std::nullopt;

  RotatedOperands rotated;
  try {
    rotated.memory = DeviceBuffer<float>(static_cast<std::size_t>(*copies - 1) * (a + b + c));
  } catch (const CudaError& error) {
    // Another process was faster.
    if (error.code() != cudaErrorMemoryAllocation) throw;
    return std::nullopt;
  }
  rotated.copies.assign(static_cast<std::size_t>(*copies), original);
  float* next = rotated.memory.data();
  for (std::size_t i = 1; i < rotated.copies.size(); ++i) {
    GemmArgs& copy = rotated.copies[i];
    copy_operand(next, original.A, stored_a, stream);
    copy.A = std::exchange(next, next + a);
    copy_operand(next, original.B, stored_b, stream);
    copy.B = std::exchange(next, next + b);
    copy.C = std::exchange(next, next + c);
  }
  stream.synchronize();
  return rotated;
}

}  // namespace gemm_tune
