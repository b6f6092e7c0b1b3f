// cuBLAS as baseline and reference, in row-major terms; opened when first needed.
//
// libcublas is no dependency of any binary: the constructor opens it, so that a machine without it
// can do everything else. Belongs to the device that was current when it was made. Use one object
// from one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gemm_tune {

class Cublas {
 public:
  // standard: as an application gets it (FP32 stays FP32: no TF32). pedantic: the prescribed
  // precision and rounding in every step, for reference results.
  enum class Math { standard, pedantic };

  // Throws DeviceError where libcublas.so.13 cannot be opened or has no device to work on.
  Cublas();
  ~Cublas();
  Cublas(Cublas&&) noexcept;
  Cublas& operator=(Cublas&&) noexcept;

  // "13.1.0".
  std::string version() const;

  void set_stream(cudaStream_t stream);

  // C = alpha * A * B + beta * C; A [M,K], B [K,N], C [M,N] row-major on the device, ld in
  // elements, alpha and beta on the host. Asynchronous. Sizes must fit a 32-bit integer. Throws
  // DeviceError.
  void sgemm(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
             std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
             std::int64_t ldc, Math math = Math::standard);
  void dgemm(std::int64_t M, std::int64_t N, std::int64_t K, double alpha, const double* A,
             std::int64_t lda, const double* B, std::int64_t ldb, double beta, double* C,
             std::int64_t ldc);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
