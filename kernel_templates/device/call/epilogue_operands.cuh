// SPDX-License-Identifier: Apache-2.0
// What a functor of an epilogue reads or writes beside the value: the numbers of OperandShape
// (core/problem/epilogue.h). Plain constants without any CUDA.
#pragma once

namespace gemm_tune {

constexpr int kNoOperand = 0;
constexpr int kScalarF32 = 1, kRowF32 = 2, kColumnF32 = 3;  // factors, in fp32
constexpr int kRowD = 4, kColumnD = 5;                      // of D's type
constexpr int kMatrixD = 6, kOutputD = 7;                   // as large as D, and lying as D does

}  // namespace gemm_tune
