// SPDX-License-Identifier: Apache-2.0
// Configs that stand for the family where nothing was timed (KernelFamily::representatives).
#pragma once

#include <vector>

#include "kernel_templates/family.h"
#include "kernel_templates/warp_tiled/params.cuh"

namespace gemm_tune::warp_tiled {

// Chosen greedily for sm_90 by the model alone, from 3,624 configs that searches had timed: over
// 400 random problems (sizes from 8 to 16,384, batches, each layout and alignment) their least time
// is 3 % above that over all of them, 22 % at most. Columns: CLUSTER BM BN BK WM WN TM TN WARPS_K
// STAGES ASYNC CTAS SPLIT_K TAIL.
inline constexpr int kRepresentatives[][14] = {
    {1, 32, 64, 16, 32, 16, 4, 4, 1, 2, 0, 1, 3, 0},
    {0, 32, 32, 32, 16, 32, 4, 4, 1, 2, 0, 1, 1, 2},
    {0, 64, 64, 8, 16, 64, 4, 8, 1, 2, 0, 1, 1, 0},
    {1, 32, 32, 32, 32, 32, 8, 4, 8, 2, 0, 2, 8, 0},
    {1, 32, 32, 32, 32, 32, 4, 8, 4, 2, 0, 1, 2, 0},
    {0, 64, 64, 16, 64, 64, 16, 8, 4, 2, 0, 1, 1, 1},
    {0, 64, 32, 16, 16, 32, 4, 4, 1, 2, 0, 1, 1, 0},
    {1, 16, 32, 32, 16, 32, 4, 4, 4, 4, 1, 1, 2, 0},
    {1, 128, 128, 8, 128, 32, 16, 8, 1, 2, 0, 2, 3, 0},
    {0, 32, 64, 32, 16, 64, 4, 8, 4, 2, 0, 2, 1, 1},
    {0, 64, 128, 8, 32, 64, 8, 8, 1, 2, 0, 1, 1, 0},
    {1, 32, 32, 8, 32, 16, 4, 4, 1, 3, 1, 1, 8, 0},
    {0, 32, 32, 8, 16, 32, 4, 4, 1, 5, 1, 1, 1, 0},
    {0, 64, 32, 32, 64, 32, 8, 8, 4, 2, 0, 1, 16, 0},
    {0, 16, 32, 32, 16, 32, 4, 4, 4, 4, 1, 1, 1, 1},
    {1, 16, 32, 32, 16, 32, 4, 4, 4, 2, 0, 1, 2, 0},
    {0, 64, 32, 32, 64, 32, 8, 8, 4, 2, 0, 1, 1, 1},
    {0, 128, 128, 8, 128, 32, 16, 8, 1, 2, 0, 1, 1, 1},
    {0, 32, 64, 32, 32, 64, 8, 8, 4, 2, 0, 1, 1, 0},
    {1, 64, 64, 16, 16, 32, 4, 4, 1, 2, 0, 1, 8, 0},
    {0, 32, 32, 32, 32, 32, 4, 8, 4, 2, 0, 1, 1, 1},
    {0, 64, 64, 8, 64, 64, 16, 8, 1, 2, 0, 1, 1, 0},
    {0, 16, 32, 32, 16, 32, 4, 4, 4, 3, 1, 1, 8, 0},
    {0, 16, 32, 16, 16, 32, 4, 4, 4, 5, 1, 1, 1, 0},
    {1, 64, 32, 8, 64, 32, 8, 8, 1, 2, 0, 1, 3, 0},
    {0, 32, 128, 16, 32, 32, 8, 4, 1, 2, 0, 1, 1, 1},
    {1, 32, 32, 16, 32, 32, 8, 4, 4, 4, 1, 1, 3, 0},
    {0, 128, 64, 8, 32, 64, 8, 8, 1, 2, 0, 1, 1, 1},
    {1, 64, 64, 32, 64, 64, 16, 8, 8, 2, 0, 1, 2, 0},
    {1, 32, 64, 32, 16, 64, 4, 8, 4, 2, 0, 2, 6, 0},
    {0, 16, 32, 8, 16, 32, 4, 4, 1, 3, 1, 1, 1, 0},
};

inline std::vector<std::vector<int>> representatives() {
  std::vector<std::vector<int>> all;
  for (const auto& [cluster, bm, bn, bk, wm, wn, tm, tn, warps_k, stages, async, ctas, split_k,
                    tail] : kRepresentatives) {
    all.push_back(values_of(Params{.CLUSTER = cluster,
                                   .BM = bm,
                                   .BN = bn,
                                   .BK = bk,
                                   .WM = wm,
                                   .WN = wn,
                                   .TM = tm,
                                   .TN = tn,
                                   .WARPS_K = warps_k,
                                   .STAGES = stages,
                                   .ASYNC = async,
                                   .FRAGMENTS = 2,
                                   .VEC = 4,
                                   .RASTER = 8,
                                   .CTAS = ctas,
                                   .SPLIT_K = split_k,
                                   .TAIL = tail,
                                   .TA = 0,
                                   .TB = 0,
                                   .PRED = 1}));
  }
  return all;
}

}  // namespace gemm_tune::warp_tiled
