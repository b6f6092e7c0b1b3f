// SPDX-License-Identifier: Apache-2.0
// Where TileCopy puts things: which element a thread copies and where it lands.
//
// Plain constexpr functions without any CUDA, so that the host counts bank conflicts (cost.h) with
// the very mapping that the kernel uses.
#pragma once

namespace gemm_tune {

enum class TileOrder { row_major, transposed };

struct TilePosition {
  int row, col;
};

// The first element of the index-th vector of a tile that is cols wide.
constexpr TilePosition tile_position(int index, int cols, int vec) {
  return {index / (cols / vec), index % (cols / vec) * vec};
}

// Where an element lies in shared memory; ld is the distance between two rows of the array there
// (two columns of the tile when transposed).
constexpr int smem_index(TileOrder order, int row, int col, int ld) {
  return order == TileOrder::row_major ? row * ld + col : col * ld + row;
}

// Elements per store into shared memory: whole vectors where neighbours stay neighbours and ld
// keeps them aligned.
constexpr int smem_store_vec(TileOrder order, int vec, int ld) {
  return order == TileOrder::row_major && ld % vec == 0 ? vec : 1;
}

}  // namespace gemm_tune
