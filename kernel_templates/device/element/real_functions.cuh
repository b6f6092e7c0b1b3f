// SPDX-License-Identifier: Apache-2.0
// Functions of real numbers, of float in kernels and of double in references.
#pragma once

namespace gemm_tune {

__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float tanh_of(float x) { return tanhf(x); }
__device__ inline double tanh_of(double x) { return tanh(x); }
__device__ inline float erf_of(float x) { return erff(x); }
__device__ inline double erf_of(double x) { return erf(x); }

}  // namespace gemm_tune
