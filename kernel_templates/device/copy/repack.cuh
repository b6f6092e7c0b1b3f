// SPDX-License-Identifier: Apache-2.0
// The pre-pass kernel of a config with REPACK: copies of A and B whose rows begin at multiples of
// 16 bytes, padded by zeros along K, so that vector accesses serve operands of any alignment and
// any K.
//
// One launch copies both. Each thread writes one chunk of 16 bytes, which it reads element by
// element.
#pragma once

#include "kernel_templates/device/copy/repack_args.cuh"

namespace gemm_tune {

template <class Element>
struct alignas(kRepackChunkBytes) RepackChunk {
  static constexpr int kElements = kRepackChunkBytes / sizeof(Element);
  Element x[kElements];
};

template <class Element>
__device__ inline void repack_chunk(const RepackedMatrix& matrix, long long chunk) {
  using Chunk = RepackChunk<Element>;
  const long long row_chunks = matrix.to_ld / Chunk::kElements;
  const long long row = chunk / row_chunks;
  const long long first = (chunk - row * row_chunks) * Chunk::kElements;
  const Element* const from = static_cast<const Element*>(matrix.from) + row * matrix.from_ld;
  const long long inside = row < matrix.from_rows ? matrix.from_length - first : 0;
  Chunk copy;
#pragma unroll
  for (int i = 0; i < Chunk::kElements; ++i) {
    copy.x[i] = i < inside ? from[first + i] : Element{};
  }
  static_cast<Chunk*>(matrix.to)[chunk] = copy;
}

extern "C" __global__ void __launch_bounds__(kRepackThreads) repack(const RepackArgs args) {
  const long long chunk = static_cast<long long>(blockIdx.x) * kRepackThreads + threadIdx.x;
  const long long chunks_a = repack_chunks(args.a, args.element_bytes);
  const bool is_of_a = chunk < chunks_a;
  const RepackedMatrix matrix = is_of_a ? args.a : args.b;
  const long long own = is_of_a ? chunk : chunk - chunks_a;
  if (own >= repack_chunks(matrix, args.element_bytes)) return;
  if (args.element_bytes == 2) {
    repack_chunk<unsigned short>(matrix, own);
  } else {
    repack_chunk<unsigned>(matrix, own);
  }
}

}  // namespace gemm_tune
