// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/device/tile/tile_gemm.cuh"
#include "params.cuh"

namespace gemm_tune::my_tiles {

constexpr Params P = TUNED_PARAMS;

extern "C" __global__ void __launch_bounds__(threads(P)) gemm(const KernelArgs args) {
  compute_tile<tile(P), /*predicated=*/true>(
      args, [](float(&sum)[P.TM][P.TN], const float* a_tile, const float* b_tile, int m, int n) {
        for (int k = 0; k < P.BK; ++k)
          for (int i = 0; i < P.TM; ++i)
            for (int j = 0; j < P.TN; ++j)
              sum[i][j] += a_tile[(m + i) * P.BK + k] * b_tile[k * P.BN + n + j];
      });
}

}  // namespace gemm_tune::my_tiles
