// Which tile of C a CTA computes. Grids are one-dimensional: no edge of a problem can exceed
// 65,535.
#pragma once

namespace gemm_tune {

struct TileOrigin {
  int row, col;  // of the tile's first element in C
};

// Row-major order over the tiles of a C with N columns.
template <int TILE_M, int TILE_N>
__device__ inline TileOrigin tile_origin(int N) {
  const int tiles_n = (N - 1) / TILE_N + 1;
  const int tile = static_cast<int>(blockIdx.x);
  return {tile / tiles_n * TILE_M, tile % tiles_n * TILE_N};
}

}  // namespace gemm_tune
