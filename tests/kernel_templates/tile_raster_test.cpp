// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/device/tile/tile_raster.cuh"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace gemm_tune {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();

TEST(DivisorTest, DividesAsIntegersDo) {
  std::vector<int> values = {1, 2, 3, 5, 7, 8, 9, 132, 641, 65535, 65536, 65537, 1 << 30};
  values.insert(values.end(), {(1 << 30) + 1, kMost - 1, kMost});
  std::mt19937 random(1);
  std::uniform_int_distribution<int> any(1, kMost);
  for (int i = 0; i < 1000; ++i) values.push_back(any(random) >> i % 31 | 1);
  for (const int by : values) {
    const Divisor one = divisor(by);
    std::vector<int> numbers = {0, 1, by - 1, by, kMost - 1, kMost};
    for (int i = 0; i < 200; ++i) {
      const int multiple = any(random) / by * by;
      numbers.insert(numbers.end(), {any(random), multiple, multiple - (multiple > 0 ? 1 : 0)});
    }
    for (const int x : numbers) ASSERT_EQ(x / one, x / by) << x << " / " << by;
  }
}

TEST(TileRasterTest, WalksGroupsOfRowsColumnByColumn) {
  // 5 x 3 tiles in groups of two rows: the last group has one.
  const TileRaster raster = tile_raster(5, 3, /*matrices=*/2, /*group=*/2);
  std::vector<std::tuple<int, int, int>> walked;
  for (int tile = 0; tile < 30; ++tile) {
    const TilePlace at = tile_place(raster, tile);
    walked.emplace_back(at.matrix, at.row, at.col);
  }
  const std::vector<std::tuple<int, int, int>> first = {{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 1},
                                                        {0, 0, 2}, {0, 1, 2}, {0, 2, 0}};
  EXPECT_EQ(std::vector(walked.begin(), walked.begin() + 7), first);
  EXPECT_EQ(walked[12], std::tuple(0, 4, 0));
  EXPECT_EQ(walked[14], std::tuple(0, 4, 2));
  EXPECT_EQ(walked[15], std::tuple(1, 0, 0));
}

TEST(TileRasterTest, HasEveryTileOnce) {
  for (const auto& [rows, cols, matrices, group] :
       {std::tuple(1, 1, 1, 1), std::tuple(7, 4, 3, 3), std::tuple(8, 5, 1, 8),
        std::tuple(9, 1, 2, 20), std::tuple(1, 9, 2, 1)}) {
    const TileRaster raster = tile_raster(rows, cols, matrices, group);
    std::set<std::tuple<int, int, int>> places;
    for (int tile = 0; tile < rows * cols * matrices; ++tile) {
      const TilePlace at = tile_place(raster, tile);
      EXPECT_TRUE(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols);
      EXPECT_TRUE(at.matrix >= 0 && at.matrix < matrices);
      places.emplace(at.matrix, at.row, at.col);
    }
    EXPECT_EQ(static_cast<int>(places.size()), rows * cols * matrices);
  }
}

}  // namespace
}  // namespace gemm_tune
