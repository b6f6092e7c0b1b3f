// SPDX-License-Identifier: Apache-2.0
// What memory accesses cost a warp: wavefronts counted from the lanes' addresses.
//
// The families' traits() feed it the address mapping of their kernels. A wavefront is one pass
// through the L1 / shared-memory pipe, which moves at most 128 bytes. Host only; pure.
//
// Shared memory (CUDA C++ Programming Guide, "Shared Memory": 32 banks of 4 bytes, lanes that read
// the same word share it): a wavefront serves one word of each bank. Accesses of 8 and 16 bytes are
// served by half and by quarter warps; a load takes half as many passes where lanes 2i and 2i+1, or
// lanes that differ by 2 only, read the same address (an answer on NVIDIA's developer
// forum, topic 77228, "Unexpected shared memory bank conflict").
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "kernel_templates/device/copy/slice_map.cuh"
#include "kernel_templates/device/copy/tile_map.cuh"
#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/traits.h"

namespace gemm_tune {

// For each lane the 4-byte word that its access begins with; nothing for an inactive lane.
using WarpWords = std::array<std::optional<long long>, 32>;

// Of one access of a warp: its wavefronts, and as many as there would be if no two lanes that are
// served together wanted different words of one bank.
struct SharedPasses {
  int wavefronts = 0;
  int conflict_free = 0;
};

// vec: words per lane (1, 2 or 4), to which every address is aligned.
SharedPasses shared_load_passes(const WarpWords& words, int vec);
SharedPasses shared_store_passes(const WarpWords& words, int vec);
// The wavefronts of these.
int shared_load_wavefronts(const WarpWords& words, int vec);
int shared_store_wavefronts(const WarpWords& words, int vec);

// One per 128-byte line touched, and no fewer than the bytes need.
int global_wavefronts(const WarpWords& words, int vec);

// Mean over the warps of a CTA of a count for the WarpWords that word(thread) describes. Threads
// form rows of `period` (thread / period, thread % period) whose addresses differ by a constant, so
// that only the warps up to the first common multiple are looked at.
double mean_over_warps(int threads, int period,
                       const std::function<std::optional<long long>(int)>& word,
                       const std::function<int(const WarpWords&)>& count);

struct AccessCost {
  double instructions = 0;
  double wavefronts = 0;
};

AccessCost operator+(AccessCost a, AccessCost b);

// Per warp, of TileCopy (device/copy/tile_load.cuh) with these template arguments: its global loads
// and shared stores. Rows of the matrix are taken to begin at 128-byte lines.
AccessCost tile_copy_cost(int rows, int cols, int threads, int vec, TileOrder order, int smem_ld);

// Per warp, of loads from shared memory that move vec words each, `instructions` of them (a mean
// per k step), whose addresses differ from word(thread) by constants only. period: see
// mean_over_warps().
AccessCost shared_load_cost(int threads, int period, double instructions, int vec,
                            const std::function<long long(int)>& word);

// Per warp, of SliceCopy (device/copy/slice_copy.cuh) with these template arguments: its global
// loads and shared stores; cp.async is one instruction for both.
AccessCost slice_copy_cost(int edge, int bk, int threads, int vec, bool along_k, bool async);

// Global loads per thread with which TileCopy copies a tile.
double tile_loads(int rows, int cols, int threads, int vec);

// Instructions per warp and k step beside multiplications and the data's movement: address
// arithmetic and predicates of a slice's global loads, and the loop over the slice where it is not
// unrolled whole. Rounded from counts in the SASS of 110 configs (CUDA 13.0, sm_90).
double overhead_per_k(int bk, int unroll, double global_loads, bool predicated);

// The sizes alone.
Traits tile_traits(const ThreadTile& tile, int threads, int smem_bytes);

// Of compute_tile() (device/tile/tile_gemm.cuh), all but the registers, where `unroll` k steps of a
// slice are unrolled: the compiler then merges neighbouring loads, along k for A, along a row for
// B.
Traits thread_tile_traits(const ThreadTile& tile, int unroll, bool predicated);

}  // namespace gemm_tune
