// SPDX-License-Identifier: Apache-2.0
#include "core/launch_recipe.h"

#include <limits>

namespace gemm_tune {

namespace {

constexpr std::int64_t kMaxGridX = std::numeric_limits<std::int32_t>::max();  // CUDA's

std::int64_t tiles_of(const LaunchRecipe& recipe, const Problem& problem) {
  const std::int64_t tiles_m = (problem.M + recipe.tile_m - 1) / recipe.tile_m;
  const std::int64_t tiles_n = (problem.N + recipe.tile_n - 1) / recipe.tile_n;
  return tiles_m * tiles_n;
}

// How the tiles of a ragged last wave are cut along K.
struct TailCut {
  std::int64_t tiles = 0;    // the last so many are cut
  std::int64_t pieces = 1;   // of each of them
  std::int64_t piece_k = 0;  // K elements of a piece; the last one has what is left
};

// A last wave that fills half of the SMs or less is cut into as many equal pieces as there is room
// for. A fuller one is cut together with the wave before: a long piece for every tile, then the
// short rests, which the SMs without a second long piece work through meanwhile.
TailCut tail_cut(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  const std::int64_t tiles = tiles_of(recipe, problem);
  const std::int64_t slots = std::int64_t{recipe.tail_ctas_per_sm} * sm_count;
  const std::int64_t slices = (problem.K + recipe.tile_k - 1) / recipe.tile_k;
  if (slots == 0 || slices < 2 || tiles % slots == 0) return {};
  const std::int64_t rest = tiles % slots;
  TailCut cut;
  std::int64_t piece = 0;  // slices
  if (2 * rest <= slots) {
    const std::int64_t pieces = slots / rest;
    cut.tiles = rest;
    piece = (slices + pieces - 1) / pieces;
  } else {
    const std::int64_t free = slots - rest;
    cut.tiles = tiles < slots ? tiles : slots + rest;
    const std::int64_t rests = (cut.tiles + free - 1) / free;  // that a free slot works through
    const std::int64_t overhead = (kPieceOverheadK + recipe.tile_k - 1) / recipe.tile_k;
    piece = (rests * (slices + overhead) + rests) / (rests + 1);
  }
  if (piece >= slices) return {};
  cut.pieces = (slices + piece - 1) / piece;
  cut.piece_k = piece * recipe.tile_k;
  return cut;
}

}  // namespace

Grid grid_of(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  const TailCut cut = tail_cut(recipe, problem, sm_count);
  const std::int64_t ctas = tiles_of(recipe, problem) + cut.tiles * (cut.pieces - 1);
  return {ctas, recipe.split_k, problem.batch, cut.piece_k};
}

std::int64_t workspace_bytes(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  if (recipe.cluster) return 0;
  const TailCut cut = tail_cut(recipe, problem, sm_count);
  const std::int64_t shares = recipe.split_k > 1
                                  ? tiles_of(recipe, problem) * recipe.split_k * problem.batch
                                  : cut.tiles * cut.pieces;
  const std::int64_t tile_bytes = std::int64_t{recipe.tile_m} * recipe.tile_n * 4;
  return shares > 0 ? kWorkspaceCounterBytes + shares * tile_bytes : 0;
}

std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem) {
  if (problem.layout != recipe.layout) {
    return "the kernel is for layout " + std::string(to_string(recipe.layout)) +
           "; the problem has " + std::string(to_string(problem.layout));
  }
  const auto misfit = [](const char* edge, std::int64_t size, int multiple) {
    return std::string(edge) + " = " + std::to_string(size) + " is not a multiple of " +
           std::to_string(multiple) +
           (multiple <= 4 ? " and the kernel's vector accesses demand it"
                          : " and the kernel is not predicated");
  };
  if (recipe.tail_ctas_per_sm > 0 && problem.batch > 1) return "TAIL takes no batches";
  if (problem.M % recipe.multiple_m != 0) return misfit("M", problem.M, recipe.multiple_m);
  if (problem.N % recipe.multiple_n != 0) return misfit("N", problem.N, recipe.multiple_n);
  if (problem.K % recipe.multiple_k != 0) return misfit("K", problem.K, recipe.multiple_k);
  if (problem.alignment < recipe.alignment) {
    return "vector accesses of " + std::to_string(recipe.alignment) +
           " elements need alignment class " + std::to_string(recipe.alignment) +
           "; the problem has " + std::to_string(problem.alignment);
  }
  if (problem.batch > kMaxBatch) {
    return "a batch of " + std::to_string(problem.batch) + " exceeds the grid's " +
           std::to_string(kMaxBatch);
  }
  const std::int64_t tiles = tiles_of(recipe, problem);
  if (tiles > kMaxGridX) return std::string("the grid would exceed 2^31 - 1 CTAs");
  // A tile's counters: one for each share at most, and one for the tile.
  const std::int64_t counters = tiles * problem.batch * (recipe.split_k + 1);
  if (recipe.split_k > 1 && !recipe.cluster && counters > kWorkspaceCounters) {
    return std::string("more shared tiles than a workspace has counters for");
  }
  return std::nullopt;
}

}  // namespace gemm_tune
