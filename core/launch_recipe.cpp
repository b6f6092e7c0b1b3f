#include "core/launch_recipe.h"

#include <limits>

namespace gemm_tune {

std::int64_t grid_ctas(const LaunchRecipe& recipe, const Problem& problem) {
  const std::int64_t tiles_m = (problem.M + recipe.tile_m - 1) / recipe.tile_m;
  const std::int64_t tiles_n = (problem.N + recipe.tile_n - 1) / recipe.tile_n;
  return tiles_m * tiles_n * problem.batch;
}

std::optional<std::string> why_illegal(const LaunchRecipe& recipe, const Problem& problem) {
  const auto misfit = [](const char* edge, std::int64_t size, int multiple) {
    return std::string(edge) + " = " + std::to_string(size) + " is not a multiple of " +
           std::to_string(multiple) + " and the kernel is not predicated";
  };
  if (problem.M % recipe.multiple_m != 0) return misfit("M", problem.M, recipe.multiple_m);
  if (problem.N % recipe.multiple_n != 0) return misfit("N", problem.N, recipe.multiple_n);
  if (problem.K % recipe.multiple_k != 0) return misfit("K", problem.K, recipe.multiple_k);
  if (problem.alignment < recipe.alignment) {
    return "vector accesses of " + std::to_string(recipe.alignment) +
           " elements need alignment class " + std::to_string(recipe.alignment) +
           "; the problem has " + std::to_string(problem.alignment);
  }
  if (problem.batch != 1) return std::string("the kernel does not take batches");
  if (grid_ctas(recipe, problem) > std::numeric_limits<std::int32_t>::max()) {
    return std::string("the grid would exceed 2^31 - 1 CTAs");
  }
  return std::nullopt;
}

}  // namespace gemm_tune
