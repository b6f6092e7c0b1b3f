// SPDX-License-Identifier: Apache-2.0
// What mma.sync computes, bit for bit as far as is known: fragments of a warp, and how its sums are
// rounded.
//
// core/types/tensor_core.h says how the steps of an architecture round. Products that are zero
// align nothing. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/types/float16.h"
#include "core/types/tensor_core.h"

namespace gemm_tune::emulator {

// sum + a[0] b[0] + a[1] b[1] + ..., as many products in a step as the tensor core adds at once.
float multiply_add(const TensorCore& core, Float16Format format, std::span<const std::uint16_t> a,
                   std::span<const std::uint16_t> b, float sum);

// An element of an operand: its bytes in memory, and the format that the tensor core takes, of its
// upper bits.
struct OperandFormat {
  int bytes, exponent_bits, fraction_bits;
  bool has_infinity = true;

  // Of an instruction of wgmma, along K.
  constexpr int depth() const { return 32 / bytes; }

  friend bool operator==(const OperandFormat&, const OperandFormat&) = default;
};
inline constexpr OperandFormat kOperandF16 = {2, 5, 10}, kOperandBf16 = {2, 8, 7},
                               kOperandTf32 = {4, 8, 10}, kOperandE4m3 = {1, 4, 3, false};

// The same for every line of a with every line of b, as wgmma multiplies them, format.depth()
// elements each: sums[line of a][line of b].
void multiply_add(const TensorCore& core, const OperandFormat& format,
                  std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::span<float> sums);

inline constexpr int kWarp = 32;

// A lane's operands of mma.sync m16n8k8 or m16n8k16: the instruction's registers, of two numbers
// where these have 16 bits, the first of them in the lower half.
struct MmaOperands {
  OperandFormat format;
  int k = 0;                    // 8 or 16
  std::array<unsigned, 4> a{};  // as many as k has 8 bytes
  std::array<unsigned, 2> b{};  // half as many
  bool sums_in_f16 = false;     // each step rounds its sum to f16, to nearest
};

// D = A * B + D of a warp: sums[lane] are the lane's four elements of D. Which elements a lane has:
// PTX ISA 9.0, sections "Matrix Fragments for mma.m16n8k8" and "Matrix Fragments for mma.m16n8k16
// with floating point type". Precondition: format and k are those of all lanes.
void multiply_add(const TensorCore& core, const std::array<MmaOperands, kWarp>& operands,
                  const std::array<float*, kWarp>& sums);

}  // namespace gemm_tune::emulator
