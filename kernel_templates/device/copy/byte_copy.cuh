// SPDX-License-Identifier: Apache-2.0
// cp.async of any number of bytes of a vector, from sm_80 on; device/copy/async_copy.cuh says how
// copies are committed and waited for.
//
// PTX ISA 9.0, section "Data Movement and Conversion Instructions: cp.async": what lies beyond
// src-size is filled with zeros and not read. A size that is all or nothing costs a predicate, one
// that the compiler does not know eight instructions (NVRTC 13.0). The emulator supplies the same
// functions.
#pragma once

#include "kernel_templates/device/copy/async_copy.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune {

// BYTES (4, 8 or 16) to smem: the first `inside` of them from global, zeros after them. Both
// addresses must be aligned to BYTES, also where nothing is read.
template <int BYTES>
__device__ inline void copy_async_bytes(void* smem, const void* global, int inside) {
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(global)), "r"(inside)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(global)), "r"(inside), "n"(BYTES)
                 : "memory");
  }
}

}  // namespace gemm_tune
#endif
