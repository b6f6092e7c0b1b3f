// SPDX-License-Identifier: Apache-2.0
// Configs of mma that add up in the same order, whatever their tiles: a row of D has the same bits
// with any of them, wherever in A its row stands, and with any number of rows beside it.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/types/float16.h"
#include "tests/emulator/device/tensor_core.h"
#include "tests/emulator/kernels/listed_kernel_test.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kRows = 40, kColumns = 24, kDepth = 328;

using Bf16 = std::uint16_t;

std::vector<Bf16> random_elements(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<Bf16> elements;
  for (int i = 0; i < count; ++i) elements.push_back(from_float(kBf16, between(random)));
  return elements;
}

// Products of bf16 with a D of f32, A stored [M,K] and B [N,K], by one config.
class Products {
 public:
  explicit Products(const std::string& config) : kernel_(object_of(config), config) {}

  // Rows `first` to `first + rows - 1` of A, times B.
  std::vector<float> of_rows(int first, int rows) {
    GemmCall call = packed_call(packed_problem(rows, kColumns, kDepth, Layout::nt, 1,
                                               signature_of(ElementType::bf16, ElementType::f32)));
    std::vector<float> d(static_cast<std::size_t>(rows) * kColumns);
    call.A = a_.data() + first * kDepth;
    call.B = b_.data();
    call.C = call.D = d.data();
    kernel_.run(call, tensor_core_of(90));
    return d;
  }

 private:
  EmulatedKernel kernel_;
  const std::vector<Bf16> a_ = random_elements(kRows * kDepth, 1);
  const std::vector<Bf16> b_ = random_elements(kColumns * kDepth, 2);
};

std::vector<float> row_of(const std::vector<float>& d, int row) {
  return {d.begin() + row * kColumns, d.begin() + (row + 1) * kColumns};
}

constexpr const char* kSquareTiles =
    "mma/AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
    "SPLIT_K=1,TA=0,TB=1,PRED=1,REPACK=1";
constexpr const char* kFlatTiles =
    "mma/AB=2,CD=0,BM=16,BN=32,BK=128,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=1,RASTER=8,"
    "SPLIT_K=1,TA=0,TB=1,PRED=1,VECS=881";
constexpr const char* kCluster =
    "mma/AB=2,CD=0,BM=16,BN=32,BK=64,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
    "SPLIT_K=4,TA=0,TB=1,PRED=1,CLUSTER=1";

TEST(OrderOfSums, IsThatOfAnyTileWithoutSharesAlongK) {
  Products square(kSquareTiles), flat(kFlatTiles);
  const std::vector<float> all = square.of_rows(0, kRows);
  EXPECT_EQ(flat.of_rows(0, kRows), all);
  for (const int row : {0, 7, 15, 16, 39}) {
    EXPECT_EQ(flat.of_rows(row, 1), row_of(all, row)) << row;
    EXPECT_EQ(square.of_rows(row, 1), row_of(all, row)) << row;
  }
}

TEST(OrderOfSums, DependsOnNoPlaceInATileOfACluster) {
  Products cluster(kCluster);
  const std::vector<float> all = cluster.of_rows(0, kRows);
  for (const int row : {0, 7, 15, 16, 39}) {
    EXPECT_EQ(cluster.of_rows(row, 1), row_of(all, row)) << row;
  }
  // Rounding tells orders apart: this one is another than that without shares.
  EXPECT_NE(Products(kSquareTiles).of_rows(0, kRows), all);
}

}  // namespace
}  // namespace gemm_tune::emulator
