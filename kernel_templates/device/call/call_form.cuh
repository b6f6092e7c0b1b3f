// SPDX-License-Identifier: Apache-2.0
// The form of the calls that a kernel is compiled for: TUNED_FORM, as in {.IN_PLACE=1}, and the
// epilogue, TUNED_EPILOGUE (device/call/epilogue_chain.cuh).
//
// A kernel for in-place products takes D for C and knows no other: a second address in the epilogue
// makes kernels up to 3.4 % slower (an H100, 4096x4096x4096:layout=nt).
#pragma once

#include "kernel_templates/device/call/epilogue_chain.cuh"
#include "kernel_templates/device/call/gemm_args.cuh"
#include "kernel_templates/device/element/select.cuh"

namespace gemm_tune {

struct Form {
  int IN_PLACE;  // 1: C is D
};
constexpr Form kForm = TUNED_FORM;
constexpr bool kInPlace = kForm.IN_PLACE != 0;
#ifdef TUNED_EPILOGUE
constexpr bool kHasEpilogue = true;
#else
constexpr bool kHasEpilogue = false;
#endif

// The argument of a kernel. With an epilogue it has a place for C that a kernel for in-place
// products does not read.
using KernelArgs = Select<kHasEpilogue, EpilogueGemmArgs<EpilogueChain::kOperands>,
                          Select<kInPlace, InPlaceGemmArgs, SeparateGemmArgs>::Type>::Type;

// What the epilogue makes of neighbours of a row, of the CTA's product of the batch. TYPE: of D.
template <int TYPE, int COUNT, class Args>
__device__ inline void apply_epilogue(float (&values)[COUNT], const Args& args, int row, int col) {
  if constexpr (kHasEpilogue) {
    const long long first = blockIdx.z * args.stride_c + row * args.ldc + col;
    EpilogueChain::apply<TYPE>(values, {row, col, first}, args.operands);
  }
}

}  // namespace gemm_tune
