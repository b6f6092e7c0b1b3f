// SPDX-License-Identifier: Apache-2.0
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

#include "core/problem.h"

namespace gemm_tune {

// C = alpha * op(A) * op(B) + beta * C for each entry of a batch, row-major on the device; alpha
// and beta on the host. Leading dimensions and strides in elements; strides count for a batch
// above 1.
template <class T>
struct BlasGemm {
  Layout layout = Layout::nn;
  std::int64_t M = 0, N = 0, K = 0;
  T alpha = 1;
  const T* A = nullptr;
  std::int64_t lda = 0, stride_a = 0;
  const T* B = nullptr;
  std::int64_t ldb = 0, stride_b = 0;
  T beta = 0;
  T* C = nullptr;
  std::int64_t ldc = 0, stride_c = 0;
  std::int64_t batch = 1;
};

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

  // Asynchronous. A batch goes through the strided-batched function. Sizes must fit a 32-bit
  // integer. Throws DeviceError.
  void gemm(const BlasGemm<float>& call, Math math = Math::standard);
  void gemm(const BlasGemm<double>& call);

  // The function that an fp32 call goes through: "cublasSgemm", "cublasSgemmStridedBatched".
  static const char* sgemm_name(std::int64_t batch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
