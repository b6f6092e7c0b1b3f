// SPDX-License-Identifier: Apache-2.0
// The order in which CTAs that stay for several tiles take the tiles of all matrices of a batch:
// groups of rows of tiles, walked column by column, so that what runs at the same time shares more
// of A and B in L2.
//
// Read by host, NVRTC and emulator; the layout is the same for all three. The host knows what tile
// numbers are divided by: a division by a number of the argument is a multiplication and a shift,
// where a division of integers takes 45 instructions, three of which had been a third of the time
// between a launch's begin and its first load.
#pragma once

namespace gemm_tune {

// Divides x of 0 to 2^31 - 1 by `value` of at least 1. multiplier: 2^(31 + shift) / value, rounded
// up, at most 2^32 - 1; what rounding adds to the quotient is below x / 2^31 / value, so that its
// whole part stays (Granlund and Montgomery, Division by Invariant Integers using Multiplication,
// 1994).
struct Divisor {
  int value;
  unsigned multiplier;
  int shift;
};

constexpr Divisor divisor(int value) {
  int shift = 0;
  while (1LL << shift < value) ++shift;
  const auto by = static_cast<unsigned long long>(value);
  return {value, static_cast<unsigned>(((1ULL << (31 + shift)) + by - 1) / by), shift};
}

constexpr int operator/(int x, const Divisor& by) {
  const unsigned twice = 2 * static_cast<unsigned>(x);
  const auto high = static_cast<unsigned>(1ULL * twice * by.multiplier >> 32);
  return static_cast<int>(high >> by.shift);
}

// rows, cols: tiles of a matrix. group: rows of tiles that are walked together; the last group of
// a matrix may have fewer.
struct TileRaster {
  int rows, cols, matrices;
  int groups;
  Divisor of_matrix, of_group;  // tiles
  Divisor group, last_group;    // rows
};

constexpr TileRaster tile_raster(int rows, int cols, int matrices, int group) {
  const int groups = (rows - 1) / group + 1;
  return {rows,
          cols,
          matrices,
          groups,
          divisor(rows * cols),
          divisor(group * cols),
          divisor(group),
          divisor(rows - (groups - 1) * group)};
}

// Of all matrices.
constexpr int tiles_of(const TileRaster& raster) {
  return raster.rows * raster.cols * raster.matrices;
}

struct TilePlace {
  int row, col, matrix;
};

constexpr TilePlace tile_place(const TileRaster& raster, int tile) {
  const int matrix = tile / raster.of_matrix;
  tile -= matrix * raster.of_matrix.value;
  const int group = tile / raster.of_group;
  tile -= group * raster.of_group.value;
  const Divisor rows = group == raster.groups - 1 ? raster.last_group : raster.group;
  const int col = tile / rows;
  return {group * raster.group.value + tile - col * rows.value, col, matrix};
}

}  // namespace gemm_tune
