// SPDX-License-Identifier: Apache-2.0
// How the tensor cores of an architecture add.
//
// A tensor core does not add one product after the other. All products of a step and the sum so far
// are aligned to the largest exponent among them, with so many fraction bits kept and the rest cut
// off; they are added exactly; the result is cut off to fp32's 24 bits. Numbers of bits and of
// products were found by probing GPUs: P. Xie et al., MMA-Sim (github.com/microsoft/MMA-Sim);
// F. A. Khattak, M. Mikaitis (github.com/north-numerical-computing/MATLAB-tensor-core). Values; any
// thread.
#pragma once

#include <string>

#include "core/error.h"

namespace gemm_tune {

struct TensorCore {
  int fraction_bits = 0;  // kept below the largest exponent
  int products = 0;       // of 16-bit numbers, added in one step
  // The same as fraction_bits for 8-bit numbers: Ada and Hopper keep fewer of these.
  int fraction_bits_of_8 = fraction_bits;

  friend bool operator==(const TensorCore&, const TensorCore&) = default;
};

// That of an architecture: 75 for sm_75. Throws DeviceError below 70.
inline TensorCore tensor_core_of(int sm) {
  if (sm < 70) throw DeviceError("sm_" + std::to_string(sm) + " has no tensor cores");
  if (sm < 75) return {23, 4};
  if (sm < 89) return {24, 8};
  if (sm < 90) return {24, 8, 13};
  if (sm < 100) return {25, 16, 13};
  return {25, 16};
}

}  // namespace gemm_tune
