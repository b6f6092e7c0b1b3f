// SPDX-License-Identifier: Apache-2.0
#include "choose/attainable_time.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "choose/expected_time.h"
#include "core/launch_recipe.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {
namespace {

// Chosen greedily for sm_90 by the model alone, from 3,624 configs that searches had timed and from
// 6,000 of mma: over 400 random problems (sizes from 8 to 16,384, batches, each layout and
// alignment) their least time is 3 % above that over all of them (mma: 5 %), 22 % (35 %) at most.
constexpr const char* kConfigs[] = {
    "warp_tiled/CLUSTER=1,BM=32,BN=64,BK=16,WM=32,WN=16,TM=4,TN=4,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=3,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=2,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=8,WM=16,WN=64,TM=4,TN=8,WARPS_K=1,"
    "STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
    "warp_tiled/CLUSTER=1,BM=32,BN=32,BK=32,WM=32,WN=32,TM=8,TN=4,"
    "WARPS_K=8,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=32,BN=32,BK=32,WM=32,WN=32,TM=4,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=64,WN=64,TM=16,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=32,BK=16,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=16,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=4,STAGES=4,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=128,BN=128,BK=8,WM=128,WN=32,TM=16,TN=8,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=3,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=32,BN=64,BK=32,WM=16,WN=64,TM=4,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=8,WM=32,WN=64,TM=8,TN=8,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=32,BN=32,BK=8,WM=32,WN=16,TM=4,TN=4,WARPS_K=1,"
    "STAGES=3,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED=1",
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,WARPS_K=1,"
    "STAGES=5,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
    "warp_tiled/CLUSTER=0,BM=64,BN=32,BK=32,WM=64,WN=32,TM=8,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=16,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=4,STAGES=4,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=16,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=32,BK=32,WM=64,WN=32,TM=8,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=8,WM=128,WN=32,TM=16,TN=8,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=32,BN=64,BK=32,WM=32,WN=64,TM=8,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=64,BN=64,BK=16,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=32,WM=32,WN=32,TM=4,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=8,WM=64,WN=64,TM=16,TN=8,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=32,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=4,STAGES=3,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=8,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=16,WM=16,WN=32,TM=4,TN=4,"
    "WARPS_K=4,STAGES=5,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=64,BN=32,BK=8,WM=64,WN=32,TM=8,TN=8,WARPS_K=1,"
    "STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=3,TAIL=0,TA=0,TB=0,PRED=1",
    "skinny/CLUSTER=0,BS=8,TL=4,WARPS=4,LANES_K=32,UNROLL=2,VEC=4,"
    "SPLIT_K=1,SKINNY_N=1,TA=0,TB=0,PRED=1",
    "warp_tiled/CLUSTER=0,BM=32,BN=128,BK=16,WM=32,WN=32,TM=8,TN=4,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=32,BN=32,BK=16,WM=32,WN=32,TM=8,TN=4,"
    "WARPS_K=4,STAGES=4,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=3,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=128,BN=64,BK=8,WM=32,WN=64,TM=8,TN=8,"
    "WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=64,BN=64,BK=32,WM=64,WN=64,TM=16,TN=8,"
    "WARPS_K=8,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=2,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=1,BM=32,BN=64,BK=32,WM=16,WN=64,TM=4,TN=8,"
    "WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=2,SPLIT_K=6,TAIL=0,TA=0,TB=0,PRED="
    "1",
    "warp_tiled/CLUSTER=0,BM=16,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,WARPS_K=1,"
    "STAGES=3,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=32,BN=64,BK=32,WM=16,WN=64,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=32,BN=32,BK=32,WM=32,WN=32,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=8,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=128,BN=128,BK=16,WM=64,WN=64,MMA_K=16,STAGES=4,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=16,BN=16,BK=64,WM=16,WN=16,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=64,BN=64,BK=16,WM=32,WN=64,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=8,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=64,BN=32,BK=16,WM=64,WN=32,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=256,BN=128,BK=16,WM=64,WN=64,MMA_K=16,STAGES=3,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=16,BN=32,BK=64,WM=16,WN=32,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=8,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=64,BN=96,BK=32,WM=32,WN=48,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=64,BN=64,BK=16,WM=32,WN=64,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=32,BN=32,BK=64,WM=16,WN=32,MMA_K=16,STAGES=5,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1",
    "mma/AB=2,CD=0,BM=128,BN=128,BK=16,WM=64,WN=64,MMA_K=16,STAGES=4,"
    "ASYNC=1,VEC=8,RASTER=8,SPLIT_K=8,TA=0,TB=0,PRED=1",
};

// Every specialisation of the configs that may serve a problem of the types and the layout: of each
// config, the one for whole vectors first.
using Variants = std::vector<std::vector<KnownConfig>>;

Variants variants_of(const Signature& signature, Layout layout) {
  Variants variants;
  for (const char* const text : kConfigs) {
    const KnownConfig config = check_config(parse_config(text));
    Specialisation wanted = config.specialisation();
    wanted.layout = layout;
    wanted.signature = signature;
    if (!config.family->supports(signature)) continue;
    std::vector<int> values = config.family->specialised(config.values, wanted);
    if (config.family->reject(values)) continue;
    variants.push_back(served_variants(known_config(*config.family, std::move(values))));
  }
  return variants;
}

const Variants& known_variants(const Signature& signature, Layout layout) {
  static std::mutex mutex;
  static std::map<std::pair<Signature, Layout>, Variants> known;
  const std::lock_guard finding(mutex);
  const auto found = known.find({signature, layout});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair(signature, layout), variants_of(signature, layout)).first->second;
}

}  // namespace

std::optional<double> attainable_us(const Problem& problem, const DeviceSpec& device) {
  const LaunchProblem asked = launch_problem(problem);
  std::optional<double> least;
  for (const std::vector<KnownConfig>& of_one : known_variants(problem.signature, problem.layout)) {
    for (const KnownConfig& variant : of_one) {
      if (refusal(variant.recipe, asked) != Refusal::none) continue;
      const std::optional<double> time_us = modelled_us(variant, problem, device);
      if (time_us && (!least || *time_us < *least)) least = time_us;
      break;
    }
  }
  return least;
}

}  // namespace gemm_tune
