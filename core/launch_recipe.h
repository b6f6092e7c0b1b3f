// What it takes to launch a compiled config, and the problems for which that is legal.
//
// A winner is a recipe, not only a tile. Derived from a config by its family; judged here, once,
// for the tuner, the database's chooser, the runtime library and the exported header alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/problem.h"

namespace gemm_tune {

struct LaunchRecipe {
  int block_threads = 0;             // one-dimensional block
  int tile_m = 0, tile_n = 0;        // C elements of one CTA; one-dimensional grid, see grid_ctas()
  int smem_bytes = 0;                // dynamic shared memory of one CTA
  std::int64_t workspace_bytes = 0;  // global scratch memory of one launch
  int alignment = 1;                 // alignment class the kernel needs, in elements
  // M, N and K must be multiples of these; all 1 for a predicated kernel.
  int multiple_m = 1, multiple_n = 1, multiple_k = 1;

  friend bool operator==(const LaunchRecipe&, const LaunchRecipe&) = default;
};

// The grid's CTAs: ceil(M / tile_m) * ceil(N / tile_n) * batch.
std::int64_t grid_ctas(const LaunchRecipe& recipe, const Problem& problem);

// Why the recipe may not be launched for the problem, as a sentence fragment; nothing if it may.
std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem);

}  // namespace gemm_tune
