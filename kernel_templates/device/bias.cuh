// SPDX-License-Identifier: Apache-2.0
// The epilogue of a kernel that is compiled with TUNED_EPILOGUE: 1 adds a bias to the outputs, 2
// then makes negative ones zero (ReLU). A NaN stays a NaN.
#pragma once

namespace gemm_tune {

// value: alpha * sum + beta * C of an output, of all of K. bias: of its column, as fp32.
__device__ inline float with_bias(float value, float bias) {
  const float biased = value + bias;
  return TUNED_EPILOGUE == 2 && biased < 0.0f ? 0.0f : biased;
}

}  // namespace gemm_tune
