// SPDX-License-Identifier: Apache-2.0
// Copies from global into shared memory that a thread starts and later waits for: cp.async, from
// sm_80 on.
//
// A thread collects copies into groups (commit_copies), and groups end in the order in which they
// were committed. wait_copies tells of the thread's own copies only: a barrier after it makes the
// others' visible. Both addresses must be aligned to BYTES, also where nothing is read. The
// emulator supplies the same names. PTX ISA 9.0, section "Data Movement and Conversion
// Instructions: cp.async".
#pragma once

#ifndef GT_EMULATOR
namespace gemm_tune {

// BYTES / 4 floats to OFFSET bytes past smem, or nothing at all; without a branch, so that it can
// be mixed with other work.
template <int BYTES, int OFFSET = 0>
__device__ inline void copy_async_if(float* smem, const float* global, bool is_wanted) {
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  const int wanted = is_wanted ? 1 : 0;
  if constexpr (BYTES == 16) {
    asm volatile(
        "{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %2, 0;\n"
        "@wanted cp.async.cg.shared.global [%0 + %3], [%1], 16;\n}" ::"r"(to),
        "l"(__cvta_generic_to_global(global)), "r"(wanted), "n"(OFFSET)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %2, 0;\n"
        "@wanted cp.async.ca.shared.global [%0 + %3], [%1], %4;\n}" ::"r"(to),
        "l"(__cvta_generic_to_global(global)), "r"(wanted), "n"(OFFSET), "n"(BYTES)
        : "memory");
  }
}

// BYTES / 4 floats to OFFSET bytes past smem, or as many zeros.
template <int BYTES, int OFFSET = 0>
__device__ inline void copy_async_or_zero(float* smem, const float* global, bool inside) {
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  const int bytes = inside ? BYTES : 0;
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0 + %3], [%1], 16, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "n"(OFFSET)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0 + %3], [%1], %4, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "n"(OFFSET), "n"(BYTES)
                 : "memory");
  }
}

// Makes a group of the copies started since the last one; of none is a group too.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all groups but the N committed last have ended.
template <int N>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace gemm_tune
#endif
