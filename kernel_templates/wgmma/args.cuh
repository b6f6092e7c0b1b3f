// SPDX-License-Identifier: Apache-2.0
// The argument of the kernel beside its tensor maps. The layout is the same for host and device.
#pragma once

#include "kernel_templates/device/call/gemm_args.cuh"
#include "kernel_templates/device/tile/tile_raster.cuh"

namespace gemm_tune::wgmma {

// L2 policies, as the PTX instruction createpolicy makes them.
constexpr unsigned long long kEvictNormally = 0x1000000000000000, kEvictFirst = 0x12f0000000000000,
                             kEvictLast = 0x14f0000000000000;

// As the driver writes it.
struct alignas(128) TensorMap {
  unsigned long long opaque[16];
};

struct Args {
  int M, N, K;
  int rows, cols;        // of left and of right: M and N, or N and M
  TileRaster tiles;      // cluster tiles
  int cut_tiles, parts;  // with REDUCE: the last so many cluster tiles are cut along K
  float alpha, beta;
  void* D;
  const void* C;                             // lies as D does; not read where beta is 0
  long long ldd, stride_d;                   // elements
  unsigned long long left_hint, right_hint;  // L2 policies
  float* partials;                           // with REDUCE: the sums of each part, of each CTA
  const void* operands[kMostEpilogueOperands];
};

}  // namespace gemm_tune::wgmma
