// SPDX-License-Identifier: Apache-2.0
// Copies slice after slice of an operand of 16- or 32-bit elements from global into shared memory,
// by all threads of a CTA, in chunks of 16 bytes (device/copy/chunk_map.cuh).
//
// In two halves, so that loads can be under way while the slice before is multiplied. A chunk takes
// one access, or several narrower ones where VEC elements are fewer. What lies past the matrix, in
// either direction, is zero and is not read.
#pragma once

#include "kernel_templates/device/copy/byte_copy.cuh"
#include "kernel_templates/device/copy/chunk_map.cuh"
#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/device/element/vec.cuh"

namespace gemm_tune {

template <int BYTES>
struct alignas(BYTES) Words {
  unsigned x[BYTES / 4];
};

// A chunk's elements from `from` on, the first of each word in its lower half where they are of 16
// bits. Those from `inside` on are zero and not read. VEC of them in one access where all of these
// are inside; from must be aligned to it then.
template <int VEC, class Element>
__device__ inline void load_elements(unsigned (&words)[4], const Element* from, int inside) {
  constexpr int kBytes = sizeof(Element);
#pragma unroll
  for (int first = 0; first < chunk_elements(kBytes); first += VEC) {
    if constexpr (VEC * kBytes >= 4) {
      if (in_bounds(first + VEC - 1, inside)) {
        const auto whole = *reinterpret_cast<const Words<VEC * kBytes>*>(from + first);
#pragma unroll
        for (int i = 0; i < VEC * kBytes / 4; ++i) words[first * kBytes / 4 + i] = whole.x[i];
        continue;
      }
    }
#pragma unroll
    for (int i = first; i < first + VEC; ++i) {
      const unsigned element = in_bounds(i, inside) ? from[i] : 0u;
      if constexpr (kBytes == 4) {
        words[i] = element;
      } else {
        words[i / 2] = i % 2 == 0 ? element : words[i / 2] | element << 16;
      }
    }
  }
}

// EDGE x BK elements at a time; ALONG_K: k runs along the stored rows. Element: their bits.
template <class Element, int EDGE, int BK, int THREADS, int VEC, bool ALONG_K, bool ASYNC,
          bool PREDICATED>
class ChunkCopy {
 public:
  static constexpr int kBytes = sizeof(Element);  // of an element
  static constexpr int kChunk = chunk_elements(kBytes);
  static constexpr int kRows = slice_rows(EDGE, BK, ALONG_K);
  static constexpr int kChunks = slice_chunks(EDGE, BK, ALONG_K, kBytes);

  // src: the first slice's first element; edge_left: how far the matrix reaches from there.
  __device__ ChunkCopy(const Element* src, long long ld, int edge_left)
      : src_(src), ld_(ld), edge_left_(edge_left) {
    if constexpr (kIsEven) {
      const auto [row, chunk] = place(0);
      src_ += row * ld + chunk * kChunk;
    }
  }

  // Whether the matrix's edge cuts no chunk in two.
  __device__ bool has_whole_chunks() const {
    return ALONG_K || !PREDICATED || in_bounds(EDGE - 1, edge_left_) || edge_left_ % kChunk == 0;
  }

  // Sets out for part PART of PARTS of the next slice, in their order. K has k_left elements from
  // there on, at least one. WHOLE: it has BK, and has_whole_chunks().
  template <bool WHOLE, int PART = 0, int PARTS = 1>
  __device__ void begin(Element* smem, int k_left) {
    // Later chunks are constants away.
    Element* const first = smem + offset(0);
#pragma unroll
    for (int pass = PART * kPasses / PARTS; pass < (PART + 1) * kPasses / PARTS; ++pass) {
      const auto [row, chunk] = place(pass);
      if (!is_surplus(row)) {
        Element* const to = kIsConstant ? first + pass * kPassOffset : smem + offset(pass);
        begin_chunk<WHOLE>(to, pass, row, chunk, k_left);
      }
      if constexpr (kIsEven) src_ += kRowsOfPass * ld_;
    }
    if constexpr (PART == PARTS - 1) {
      if constexpr (ALONG_K) src_ += BK;
      if constexpr (kIsEven) {
        src_ -= (kPasses * kRowsOfPass - (ALONG_K ? 0 : BK)) * ld_;
      } else if constexpr (!ALONG_K) {
        src_ += BK * ld_;
      }
    }
  }

  // What waits in registers arrives; nothing where ASYNC.
  __device__ void finish(Element* smem) const {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (is_surplus(place(pass).row)) break;
        *reinterpret_cast<Words<16>*>(smem + offset(pass)) = share_[pass];
      }
    }
  }

 private:
  static constexpr int kPasses = chunk_passes(kRows, kChunks, THREADS);
  static_assert(!ASYNC || VEC * kBytes >= 4);
  // Each pass has whole rows: the thread's chunks lie one below the other, and src_ is the next of
  // them. Elsewhere it is the next slice's first element.
  static constexpr bool kIsEven = THREADS % kChunks == 0;
  static constexpr int kRowsOfPass = kIsEven ? THREADS / kChunks : 0;

  static __device__ ChunkPlace place(int pass) {
    return chunk_place(static_cast<int>(threadIdx.x), pass, THREADS, kChunks);
  }

  // Rows a multiple of 8 apart have their chunks exchanged alike.
  static constexpr bool kIsConstant = kIsEven && kRowsOfPass % 8 == 0;
  static constexpr int kPassOffset = kRowsOfPass * kChunks * kChunk;

  // The thread's chunk of a pass in shared memory.
  static __device__ int offset(int pass) {
    const auto [row, chunk] = place(pass);
    return chunk_offset<chunk_reads(kBytes, ALONG_K)>(row, chunk, kChunks) * kChunk;
  }

  // Not a matrix edge: the last pass may have fewer chunks than threads.
  static __device__ bool is_surplus(int row) {
    return kRows * kChunks % THREADS != 0 && row >= kRows;
  }

  // Sets out for the chunk of a pass.
  template <bool WHOLE>
  __device__ void begin_chunk(Element* to, int pass, int row, int chunk, int k_left) {
    const Element* const from = kIsEven ? src_ : src_ + row * ld_ + chunk * kChunk;
    const int col = chunk * kChunk;
    if constexpr (!ASYNC) {
      load_elements<VEC>(share_[pass].x, from, elements_inside(row, col, k_left));
    } else if constexpr (WHOLE) {
      copy_whole_chunk(to, from, !PREDICATED || in_bounds(ALONG_K ? row : col, edge_left_));
    } else {
      copy_chunk(to, from, elements_inside(row, col, k_left));
    }
  }

  // How many elements of its row lie in the matrix from the chunk's first one on: none where
  // negative.
  __device__ int elements_inside(int row, int col, int k_left) const {
    if constexpr (!PREDICATED) return kChunk;
    if (!in_bounds(row, ALONG_K ? edge_left_ : k_left)) return 0;
    return (ALONG_K ? k_left : edge_left_) - col;
  }

  static __device__ void copy_chunk(Element* to, const Element* from, int inside) {
#pragma unroll
    for (int first = 0; first < kChunk; first += VEC) {
      const int left = inside - first;
      const int elements = left < 0 ? 0 : left < VEC ? left : VEC;
      copy_async_bytes<VEC * kBytes>(to + first, from + first, elements * kBytes);
    }
  }

  static __device__ void copy_whole_chunk(Element* to, const Element* from, bool inside) {
#pragma unroll
    for (int first = 0; first < kChunk; first += VEC) {
      copy_async_bytes<VEC * kBytes>(to + first, from + first, inside ? VEC * kBytes : 0);
    }
  }

  const Element* src_;
  const long long ld_;
  const int edge_left_;
  Words<16> share_[ASYNC ? 1 : kPasses];
};

}  // namespace gemm_tune
