// SPDX-License-Identifier: Apache-2.0
// cuBLAS as baseline and reference, in row-major terms; opened when first needed.
//
// No binary links libcublas: the constructor opens it, so that a machine without it can do
// everything else. An object belongs to the device that was current when it was made. Use one
// object from one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/problem/gemm_call.h"

namespace gemm_tune {

class Cublas {
 public:
  // standard: as an application gets it (FP32 stays FP32: no TF32). pedantic: the prescribed
  // precision and rounding in every step, for reference results.
  enum class Math { standard, pedantic };

  // Throws DeviceError if libcublas.so.13 cannot be opened or finds no usable device.
  Cublas();
  ~Cublas();
  Cublas(Cublas&&) noexcept;
  Cublas& operator=(Cublas&&) noexcept;

  // "13.1.0".
  std::string version() const;

  // The same without a GPU. Throws DeviceError if the library cannot be opened.
  static std::string installed_version();

  void set_stream(cudaStream_t stream);

  // Scratch memory on the device instead of cuBLAS's own, for calls in the current stream. The size
  // is what cuBLAS's documentation of cublasSetWorkspace() recommends for sm_90; 4 MiB for older.
  static constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;
  void set_workspace(void* memory, std::int64_t bytes);

  // Enqueues the call and returns. C must be D; all matrices must be f32 or, for reference results,
  // f64; or A and B f16 or bf16, C and D of the same type or f32, all sums in fp32. A batch goes
  // through the strided-batched function, one of pointers through the batched one. Sizes must fit a
  // 32-bit integer. Throws DeviceError. math applies to f32 only.
  void gemm(const GemmCall& call, Math math = Math::standard);

  // The call through cublasGemmEx with CUBLAS_GEMM_AUTOTUNE: cuBLAS's first call of a problem times
  // its own algorithms, waits for that and may leave any result; later ones use the fastest.
  // Nothing, or the status by which cuBLAS refuses: without the feature, for the problem, or for a
  // first call that is captured. Throws DeviceError as gemm().
  std::optional<std::string> gemm_autotuned(const GemmCall& call);

  // The function that a call of the problem goes through: "cublasSgemm", "cublasGemmEx",
  // "cublasGemmStridedBatchedEx". Throws DeviceError where cuBLAS has none for the types.
  static const char* function_name(const Problem& problem);
  // The same for gemm_autotuned().
  static const char* autotuned_name(const Problem& problem);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gemm_tune
