// SPDX-License-Identifier: Apache-2.0
// GELU by its approximation with tanh, as cublasLt computes it: D. Hendrycks, K. Gimpel, Gaussian
// Error Linear Units, arXiv 1606.08415.
#pragma once

#include "kernel_templates/device/call/functor.cuh"
#include "kernel_templates/device/element/real_functions.cuh"

namespace gemm_tune {

struct GeluTanh : Activation {
  template <class T>
  static __device__ T apply(T x) {
    const T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);  // sqrt(2 / pi)
    return T(0.5) * x * (T(1) + tanh_of(inner));
  }
};

}  // namespace gemm_tune
