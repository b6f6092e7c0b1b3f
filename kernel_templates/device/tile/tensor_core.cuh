// SPDX-License-Identifier: Apache-2.0
// What a warp does together on tensor cores: ldmatrix, and mma.sync of 16-bit elements or tf32 with
// sums in fp32, of f16 with sums in fp16, too.
//
// All 32 lanes call, at the same place. Which elements a lane has: PTX ISA 9.0, sections
// "Warp-level matrix load instruction: ldmatrix", "Matrix Fragments for mma.m16n8k8" and "Matrix
// Fragments for mma.m16n8k16 with floating point type". ldmatrix and m16n8k8 of f16 need sm_75,
// m16n8k16,
// bf16 and tf32 sm_80. The emulator supplies the same functions, with the hardware's rounding.
#pragma once

#include "kernel_templates/device/element/element_type.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune {

// Four matrices of 8 x 8 from shared memory: lane l brings the address of row l % 8 of matrix l /
// 8, aligned to 16 bytes, and receives of each matrix elements 2 (l % 4) and the next one of row l
// / 4; where TRANSPOSED, of column l / 4.
template <bool TRANSPOSED>
__device__ inline void load_matrices(unsigned (&fragments)[4], const void* row) {
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (TRANSPOSED) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]), "=r"(fragments[3])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]), "=r"(fragments[3])
                 : "r"(from)
                 : "memory");
  }
}

// sums += A * B, of 16 x 16 and 16 x 8 elements.
template <int TYPE>
__device__ inline void mma_k16(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (TYPE == kTypeBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// sums += A * B, of 16 x 8 and 8 x 8 elements of f16.
__device__ inline void mma_k8(float (&sums)[4], unsigned a0, unsigned a1, unsigned b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a0), "r"(a1), "r"(b));
}

// The same with sums in f16: in a word the two of a row.
__device__ inline void mma_k16_f16(unsigned (&sums)[2], const unsigned (&a)[4], unsigned b0,
                                   unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
      "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(sums[0]), "+r"(sums[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void mma_k8_f16(unsigned (&sums)[2], unsigned a0, unsigned a1, unsigned b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
      : "+r"(sums[0]), "+r"(sums[1])
      : "r"(a0), "r"(a1), "r"(b));
}

// sums += A * B, of 16 x 8 and 8 x 8 elements of tf32.
__device__ inline void mma_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace gemm_tune
#endif
