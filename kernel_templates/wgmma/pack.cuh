// SPDX-License-Identifier: Apache-2.0
// The kernel before the product that packs A and B as lines along K, for elements of other than 16
// bits: the instruction takes these along K only. Lines begin at multiples of 16 bytes and are
// padded by zeros to whole chunks, whatever the operands' layouts, rows and addresses. Elements of
// f32 are rounded to tf32, to nearest: the instruction cuts off.
#pragma once

#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/device/element/tf32.cuh"
#include "kernel_templates/wgmma/config.cuh"
#include "kernel_templates/wgmma/pack_args.cuh"

namespace gemm_tune::wgmma {

using PackedElement = Select<kP.AB == kTypeF32, Bits32, unsigned char>::Type;

struct alignas(kChunkBytes) PackedChunk {
  static constexpr int kElements = kChunkBytes / static_cast<int>(sizeof(PackedElement));
  PackedElement x[kElements];
};

// Elements k, k + 1 and so on of a line whose neighbours are `step` elements apart; zeros behind K.
template <bool ALONG_K>
__device__ inline PackedChunk load_chunk(const PackedElement* line, long long step, int k, int K) {
  constexpr int kElements = PackedChunk::kElements;
  const PackedElement* from = line + k * step;
  if constexpr (ALONG_K) {
    const bool is_aligned = reinterpret_cast<unsigned long long>(from) % kChunkBytes == 0;
    if (is_aligned && k + kElements <= K) return *reinterpret_cast<const PackedChunk*>(from);
  }
  PackedChunk chunk;
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    chunk.x[i] = k + i < K ? *from : PackedElement{};
    from += step;
  }
  return chunk;
}

__device__ inline PackedChunk rounded(PackedChunk chunk) {
  if constexpr (kP.AB == kTypeF32) {
#pragma unroll
    for (int i = 0; i < PackedChunk::kElements; ++i) chunk.x[i] = rounded_to_tf32(chunk.x[i]);
  }
  return chunk;
}

// cta: of the operand's, along the grid's x.
template <bool ALONG_K>
__device__ inline void pack_lines(const PackedMatrix& matrix, const PackArgs& args, int cta) {
  constexpr int kLines = lines_of_cta(ALONG_K, element_bytes(kP));
  constexpr int kSide = kPackThreads / kLines;  // chunks of a line at a time
  const int thread = static_cast<int>(threadIdx.x);
  const int batch = cta / matrix.groups, group = cta % matrix.groups;
  const int line = group * kLines + (ALONG_K ? thread / kSide : thread % kLines);
  if (line >= matrix.lines) return;
  const int first = static_cast<int>(blockIdx.y) * kSide * kPackRounds +
                    (ALONG_K ? thread % kSide : thread / kLines);
  const PackedElement* const from = static_cast<const PackedElement*>(matrix.from) +
                                    batch * matrix.stride + (ALONG_K ? line * matrix.ld : line);
  PackedChunk* const to =
      static_cast<PackedChunk*>(matrix.to) + (1LL * batch * matrix.lines + line) * args.chunks;
  PackedChunk chunks[kPackRounds];
#pragma unroll
  for (int i = 0; i < kPackRounds; ++i) {
    const int at = first + i * kSide;
    if (at < args.chunks) {
      chunks[i] =
          load_chunk<ALONG_K>(from, ALONG_K ? 1 : matrix.ld, at * PackedChunk::kElements, args.K);
    }
  }
#pragma unroll
  for (int i = 0; i < kPackRounds; ++i) {
    const int at = first + i * kSide;
    if (at < args.chunks) to[at] = rounded(chunks[i]);
  }
}

extern "C" __global__ void __launch_bounds__(kPackThreads)
    pack(const __grid_constant__ PackArgs args) {
  allow_next_launch();
  await_earlier_launch();
  const int cta = static_cast<int>(blockIdx.x);
  if (cta < args.ctas_a) {
    pack_lines<a_along_k(kP)>(args.a, args, cta);
  } else {
    pack_lines<b_along_k(kP)>(args.b, args, cta - args.ctas_a);
  }
}

}  // namespace gemm_tune::wgmma
