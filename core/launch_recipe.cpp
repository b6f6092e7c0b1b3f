#include "core/launch_recipe.h"

#include <limits>

namespace gemm_tune {

namespace {

constexpr std::int64_t kMaxGridX = std::numeric_limits<std::int32_t>::max();  // CUDA's
// Slices of up to two tiles for each CTA must fit an int: 2 * 1024 CTAs * K / BK with BK >= 8.
constexpr std::int64_t kMaxStreamK = 1 << 22;

std::int64_t tiles_of(const LaunchRecipe& recipe, const Problem& problem) {
  const std::int64_t tiles_m = (problem.M + recipe.tile_m - 1) / recipe.tile_m;
  const std::int64_t tiles_n = (problem.N + recipe.tile_n - 1) / recipe.tile_n;
  return tiles_m * tiles_n;
}

}  // namespace

Grid grid_of(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  const std::int64_t tiles = tiles_of(recipe, problem);
  const std::int64_t sharing = std::int64_t{recipe.stream_k_ctas_per_sm} * sm_count;
  return {sharing > 0 ? sharing : tiles, recipe.split_k, problem.batch};
}

std::int64_t workspace_bytes(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  const std::int64_t tile_bytes = std::int64_t{recipe.tile_m} * recipe.tile_n * 4;
  const Grid grid = grid_of(recipe, problem, sm_count);
  if (recipe.split_k > 1) return kWorkspaceCounterBytes + grid.ctas() * tile_bytes;
  // A CTA may begin within one tile and end within another.
  if (recipe.stream_k_ctas_per_sm > 0) return kWorkspaceCounterBytes + 2 * grid.ctas() * tile_bytes;
  return 0;
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
  if (recipe.stream_k_ctas_per_sm > 0 && (problem.batch > 1 || problem.K > kMaxStreamK)) {
    return "STREAM_K takes no batches and no K beyond " + std::to_string(kMaxStreamK);
  }
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
  if (recipe.split_k > 1 && tiles * problem.batch * (recipe.split_k + 1) > kWorkspaceCounters) {
    return std::string("more shared tiles than a workspace has counters for");
  }
  return std::nullopt;
}

}  // namespace gemm_tune
