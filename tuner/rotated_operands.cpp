#include "tuner/rotated_operands.h"

#include <utility>

#include "tuner/sampling.h"

namespace gemm_tune {
namespace {

// Floats of a matrix, up to the alignment of cudaMalloc, which the original has as well.
std::size_t padded_size(std::int64_t rows, std::int64_t ld) {
  constexpr std::size_t kFloats = 64;
  return (static_cast<std::size_t>(rows * ld) + kFloats - 1) / kFloats * kFloats;
}

void copy_matrix(float* to, const float* from, std::int64_t rows, std::int64_t ld,
                 const Stream& stream) {
  const std::size_t bytes = static_cast<std::size_t>(rows * ld) * sizeof(float);
  GT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.get()));
}

}  // namespace

std::optional<RotatedOperands> rotate_operands(const GemmArgs& original, std::int64_t l2_bytes,
                                               const Stream& stream) {
  const std::size_t a = padded_size(original.M, original.lda);
  const std::size_t b = padded_size(original.K, original.ldb);
  const std::size_t c = padded_size(original.M, original.ldc);
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
    copy_matrix(next, original.A, original.M, original.lda, stream);
    copy.A = std::exchange(next, next + a);
    copy_matrix(next, original.B, original.K, original.ldb, stream);
    copy.B = std::exchange(next, next + b);
    copy.C = std::exchange(next, next + c);
  }
  stream.synchronize();
  return rotated;
}

}  // namespace gemm_tune
