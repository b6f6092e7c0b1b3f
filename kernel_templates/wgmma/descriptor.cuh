// SPDX-License-Identifier: Apache-2.0
// Where an operand's tile lies in shared memory, as wgmma's matrix descriptor says it.
//
// A tile whose rows run along K: EXTENT rows of 128 bytes, swizzled. A tile of 16-bit elements
// whose rows run along M or N: blocks of block_width(EXTENT) columns, one after the other; a block
// has 64 rows of its width, swizzled by its width. PTX ISA 9.0, section "Asynchronous Warpgroup
// Level Matrix Shared Memory Layout"; the layouts' strides as in CUTLASS, mma_traits_sm90_gmma.hpp.
#pragma once

#include "kernel_templates/wgmma/barriers.cuh"
#include "kernel_templates/wgmma/params.cuh"

namespace gemm_tune::wgmma {

// BYTES: of an element.
template <int EXTENT, bool ALONG_K, int BYTES = 2>
struct TileLayout {
  static_assert(ALONG_K || BYTES == 2);
  // Elements of a swizzled row.
  static constexpr int kWidth = ALONG_K ? kLineBytes / BYTES : block_width(EXTENT);
  static constexpr int kRowBytes = kWidth * BYTES;
  static constexpr int kBlockBytes = kRowBytes * kBK;  // rows along M or N
  static constexpr unsigned long long kSwizzle = kRowBytes == 128 ? 1 : kRowBytes == 64 ? 2 : 3;

  // From an instruction's k to the next one's; in units of 16 bytes, as addresses in a descriptor.
  static constexpr int kStep = (ALONG_K ? kMmaBytes : kMmaK * kRowBytes) / 16;

  // Of the tile from row (or column) `first` on, a multiple of 64.
  static __device__ unsigned long long descriptor(const void* tile, int first) {
    const int offset = ALONG_K ? first * kRowBytes : first / kWidth * kBlockBytes;
    const unsigned long long address = (smem_address(tile) + offset) & 0x3ffff;
    constexpr unsigned long long kGroupOfRows = 8 * kRowBytes;  // along rows: 8 rows; else 8 k
    constexpr unsigned long long kLeading = ALONG_K ? 16 : kBlockBytes;
    return address >> 4 | kLeading >> 4 << 16 | kGroupOfRows >> 4 << 32 | kSwizzle << 62;
  }
};

}  // namespace gemm_tune::wgmma
