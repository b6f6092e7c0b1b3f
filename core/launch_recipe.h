// SPDX-License-Identifier: Apache-2.0
// What it takes to launch a compiled config, and the problems for which that is legal.
//
// A winner is a recipe, not only a tile. Derived from a config by its family; judged here, once,
// for the tuner, the database's chooser, the runtime library and the exported header alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/problem.h"

namespace gemm_tune {

struct LaunchRecipe {
  int block_threads = 0;       // one-dimensional block
  int tile_m = 0, tile_n = 0;  // C elements of one CTA
  int tile_k = 1;              // K elements of a slice: what SPLIT_K and TAIL count in
  int smem_bytes = 0;          // dynamic shared memory of one CTA
  int split_k = 1;             // CTAs that share one tile along K
  bool cluster = false;        // these form a cluster and need no workspace
  int tail_ctas_per_sm = 0;    // above 0: for so many CTAs at once on each SM, the tiles of a
                               // ragged last wave are cut along K
  Layout layout = Layout::nn;
  int alignment = 1;  // alignment class the kernel needs, in elements
  // M, N and K must be multiples of these; all 1 for a predicated kernel.
  int multiple_m = 1, multiple_n = 1, multiple_k = 1;

  friend bool operator==(const LaunchRecipe&, const LaunchRecipe&) = default;
};

// CUDA's grid: tiles, or pieces of them; shares of a tile along K; batch.
struct Grid {
  std::int64_t x = 1, y = 1, z = 1;
  std::int64_t piece_k = 0;  // GemmArgs::piece_k: K elements of a piece of a tile that is cut

  std::int64_t ctas() const { return x * y * z; }

  friend bool operator==(const Grid&, const Grid&) = default;
};

// The largest batch of one launch, whichever the kernel: the grid's z on every architecture.
inline constexpr std::int64_t kMaxBatch = 65535;

// sm_count: of the device that launches.
Grid grid_of(const LaunchRecipe& recipe, const Problem& problem, int sm_count);

// A workspace begins with counters, which are zero between launches: whoever allocates it zeroes
// them, every launch leaves them so. Partial sums follow.
inline constexpr std::int64_t kWorkspaceCounters = 16384;
inline constexpr std::int64_t kWorkspaceCounterBytes = kWorkspaceCounters * 4;

// What a piece of a tile that is cut along K costs beside its multiplications, in K elements: loads
// before the first one, partial sums written and read again. About 5 us on an H100, where a tile of
// 128 x 256 takes 0.16 us for each K element.
inline constexpr std::int64_t kPieceOverheadK = 32;

// Global scratch memory of one launch; 0 where the kernel needs none. Launches that may overlap
// need one each.
std::int64_t workspace_bytes(const LaunchRecipe& recipe, const Problem& problem, int sm_count);

// Why the recipe may not be launched for the problem, as a sentence fragment; nothing if it may.
std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem);

}  // namespace gemm_tune
