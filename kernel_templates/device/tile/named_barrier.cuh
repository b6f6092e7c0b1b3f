// SPDX-License-Identifier: Apache-2.0
// Some warps of a CTA meet, the others go on. The emulator supplies the same function.
#pragma once

#ifndef GT_EMULATOR
namespace gemm_tune {

// Meets `threads` threads, whole warps, at the CTA's barrier `id` of 16; __syncthreads() is 0.
__device__ inline void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace gemm_tune
#endif
