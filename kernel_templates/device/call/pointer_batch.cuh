// SPDX-License-Identifier: Apache-2.0
// A batch of pointers: A, B, C and D are arrays on the device, of the addresses of the matrices.
//
// The host knows no address, and so not how it is aligned. A CTA that finds its product's matrices
// less aligned than the kernel's accesses leaves the kernel's way: all CTAs of that product compute
// it element by element, slowly and right.
#pragma once

#include "kernel_templates/device/call/element_store.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/tile/raster.cuh"

namespace gemm_tune {

// The address of the CTA's matrix; of a kernel's argument, whatever the type of its elements.
__device__ inline float* pointed_matrix(const float* addresses) {
  return reinterpret_cast<float* const*>(addresses)[blockIdx.z];
}

// The arguments of the CTA's own product, as of a batch of 1. Arrays whose matrices are not read
// may be null.
template <class Args>
__device__ inline Args pointer_entry(Args args) {
  if (reduction_length(args) > 0) {
    args.A = pointed_matrix(args.A);
    args.B = pointed_matrix(args.B);
  }
  if constexpr (!kInPlace) {
    if (args.beta != 0.0f) args.C = pointed_matrix(args.C);
  }
  args.D = pointed_matrix(args.D);
  args.stride_a = args.stride_b = args.stride_c = 0;
  return args;
}

// The same of either kind of batch, of a D of f32.
template <bool POINTERS, int TYPE_A = kTypeF32, int TYPE_B = kTypeF32>
__device__ inline KernelArgs own_product(const KernelArgs& args) {
  if constexpr (POINTERS) {
    return pointer_entry(args);
  } else {
    return batch_entry<TYPE_A, TYPE_B>(args);
  }
}

// Whether accesses of so many elements of A, of B, and of C and D are aligned.
template <int TYPE_A, int TYPE_B, int TYPE_CD, int VEC_A, int VEC_B, int VEC_CD, class Args>
__device__ inline bool are_aligned(const Args& args) {
  const auto divides = [](int bytes, const float* matrix) {
    return reinterpret_cast<unsigned long long>(matrix) % static_cast<unsigned>(bytes) == 0;
  };
  bool aligned = divides(VEC_CD * type_bytes(TYPE_CD), args.D);
  if (reduction_length(args) > 0) {
    aligned = aligned && divides(VEC_A * type_bytes(TYPE_A), args.A) &&
              divides(VEC_B * type_bytes(TYPE_B), args.B);
  }
  if constexpr (!kInPlace) {
    if (args.beta != 0.0f) aligned = aligned && divides(VEC_CD * type_bytes(TYPE_CD), args.C);
  }
  return aligned;
}

// The CTA's part of its product, whose elements are dealt out to the threads of all its CTAs.
template <int TYPE_A, int TYPE_B, int TYPE_CD, bool TRANSPOSED_A, bool TRANSPOSED_B>
__device__ inline void compute_elements(const KernelArgs& args) {
  const auto* const a = reinterpret_cast<const Element<TYPE_A>*>(args.A);
  const auto* const b = reinterpret_cast<const Element<TYPE_B>*>(args.B);
  const int K = reduction_length(args);
  const long long cta = static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * gridDim.y * blockDim.x;
  const long long elements = static_cast<long long>(args.M) * args.N;
#pragma unroll 1
  for (long long i = cta * blockDim.x + threadIdx.x; i < elements; i += threads) {
    const int row = static_cast<int>(i / args.N), col = static_cast<int>(i % args.N);
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < K; ++k) {
      const float x = (TRANSPOSED_A ? a[k * args.lda + row] : a[row * args.lda + k]).value();
      const float y = (TRANSPOSED_B ? b[col * args.ldb + k] : b[k * args.ldb + col]).value();
      sum += x * y;
    }
    store_elements<TYPE_CD, 1>(args, row, col, &sum);
  }
}

}  // namespace gemm_tune
