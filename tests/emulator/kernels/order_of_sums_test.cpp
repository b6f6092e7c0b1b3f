// SPDX-License-Identifier: Apache-2.0
// Configs that add up in the same order (order_of_sums()), whatever their tiles: a row of D has the
// same bits with any of them, wherever in A its row stands, and with any number of rows beside it.
#include "kernel_templates/registry/order_of_sums.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/launch/launch_recipe.h"
#include "core/text/replaced.h"
#include "tests/emulator/device/matrix.h"
#include "tests/emulator/device/tensor_core.h"
#include "tests/emulator/kernels/listed_kernel_test.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kRows = 40, kColumns = 24, kDepth = 328;

// Random elements of an operand, stored in rows of `columns`.
class Elements {
 public:
  Elements(ElementType type, int rows, int columns, unsigned seed)
      : type_(type), bytes_(static_cast<std::size_t>(rows * columns * bytes_of(type))) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> between(-1, 1);
    for (int i = 0; i < rows * columns; ++i) set(i, between(random));
  }

  void set(int element, float value) {
    MatrixView{bytes_.data(), 1, element + 1, element + 1, 1, 0, type_}.set(0, element, value);
  }

  const void* at(int element) const { return bytes_.data() + element * bytes_of(type_); }

 private:
  ElementType type_;
  std::vector<char> bytes_;
};

// Products by one config, of A [kRows, kDepth] and B, with the config's types and layout.
class Products {
 public:
  explicit Products(const std::string& config)
      : kernel_(object_of(config), config),
        types_(kernel_.config().traits.signature),
        layout_(kernel_.config().recipe.layout),
        a_(types_.a, kRows, kDepth, 1),
        b_(types_.b, kColumns, kDepth, 2) {}

  const KnownConfig& config() const { return kernel_.config(); }

  // The bytes of rows `first` to `first + rows - 1` of A, times op(B).
  std::vector<char> of_rows(int first, int rows) {
    GemmCall call = packed_call(packed_problem(rows, kColumns, kDepth, layout_, 1, types_));
    std::vector<char> d(static_cast<std::size_t>(rows * row_bytes()));
    call.A = a_.at(first * kDepth);
    call.B = b_.at(0);
    call.C = call.D = d.data();
    kernel_.run(call, tensor_core_of(90));
    return d;
  }

  std::vector<char> rows_of(const std::vector<char>& d, int first, int rows) const {
    return {d.begin() + first * row_bytes(), d.begin() + (first + rows) * row_bytes()};
  }

  // Whether so many rows may be launched. Rows of a transposed A are not aligned.
  bool is_legal(int rows) const {
    const Problem problem = packed_problem(rows, kColumns, kDepth, layout_, 1, types_);
    return !transposes_a(layout_) && !why_illegal(kernel_.config().recipe, problem);
  }

 private:
  int row_bytes() const { return kColumns * bytes_of(types_.d); }

  EmulatedKernel kernel_;
  const Signature types_;
  const Layout layout_;
  const Elements a_, b_;
};

constexpr const char* kSquareTiles =
    "mma/AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
    "SPLIT_K=1,TA=0,TB=1,PRED=1,REPACK=1";
constexpr const char* kFlatTiles =
    "mma/AB=2,CD=0,BM=16,BN=32,BK=128,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=1,RASTER=8,"
    "SPLIT_K=1,TA=0,TB=1,PRED=1,VECS=881";
constexpr const char* kCluster =
    "mma/AB=2,CD=0,BM=16,BN=32,BK=64,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
    "SPLIT_K=4,TA=0,TB=1,PRED=1,CLUSTER=1";

constexpr const char* kWorkspace =
    "mma/AB=2,CD=0,BM=32,BN=32,BK=64,WM=16,WN=32,MMA_K=16,STAGES=2,ASYNC=0,VEC=8,RASTER=8,"
    "SPLIT_K=4,TA=0,TB=1,PRED=1";

std::string order_of(const std::string& config) {
  return order_of_sums(check_config(parse_config(config))).value_or("none");
}

// The listed configs without an epilogue, by their types, layout and order: those of configs.txt,
// and with the others.
std::map<std::string, std::vector<std::string>> configs_by_order(bool with_more = false) {
  std::map<std::string, std::vector<std::string>> orders;
  std::vector<std::string> lines = configs_in(GT_EMULATOR_CONFIGS);
  if (with_more) {
    const std::vector<std::string> more = configs_in(GT_MORE_EMULATOR_CONFIGS);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (const std::string& line : lines) {
    const KnownConfig config = check_config(parse_config(config_of(line)));
    const std::optional<std::string> order = order_of_sums(config);
    const bool is_strided = config.traits.batch_kind == BatchKind::strided;
    if (!order || !is_strided || line != config_of(line)) continue;
    const std::string types = to_string(config.traits.signature);
    orders[types + " " + std::string(to_string(config.recipe.layout)) + " " + *order].push_back(
        line);
  }
  return orders;
}

// Of the rows that are multiplied alone every config of both lists multiplies all, or those of
// configs.txt in turn one.
void expect_bits_for_every_m_and_place(bool of_each_row) {
  constexpr int kPlaces[] = {0, 7, 15, 16, 39};
  std::size_t compared = 0;
  for (const auto& [order, configs] : configs_by_order(/*with_more=*/of_each_row)) {
    std::optional<std::vector<char>> all;
    for (const std::string& config : configs) {
      Products products(config);
      if (!products.is_legal(kRows) || !products.is_legal(1)) continue;
      const std::vector<char> d = products.of_rows(0, kRows);
      if (!all) all = d;
      EXPECT_EQ(d, *all) << order << "\n" << config;
      for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
        const int row = kPlaces[i];
        if (!of_each_row && i != compared % std::size(kPlaces)) continue;
        EXPECT_EQ(products.of_rows(row, 1), products.rows_of(*all, row, 1)) << config << " " << row;
      }
      EXPECT_EQ(products.of_rows(8, 17), products.rows_of(*all, 8, 17)) << config;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20U);
}

TEST(OrderOfSums, ConfigsThatShareOneGiveARowItsBitsForEveryMAndPlace) {
  expect_bits_for_every_m_and_place(/*of_each_row=*/false);
}

TEST(OrderOfSums, ConfigsThatShareOneGiveEachRowItsBits) {
  expect_bits_for_every_m_and_place(/*of_each_row=*/true);
}

TEST(OrderOfSums, IsSaidByFourFamiliesWhereMAndThePlaceDecideNothing) {
  EXPECT_EQ(order_of(kSquareTiles), "mma MMA_K=16");
  EXPECT_EQ(order_of(kFlatTiles), "mma MMA_K=16");
  EXPECT_EQ(order_of(kCluster), "mma MMA_K=16,SPLIT_K=4,BK=64");
  EXPECT_EQ(order_of(kWorkspace), order_of(kCluster));
  EXPECT_EQ(order_of(with_replaced(kWorkspace, "BK=64", "BK=32")), "mma MMA_K=16,SPLIT_K=4,BK=32");
  EXPECT_EQ(order_of(with_replaced(kWorkspace, "SPLIT_K=4", "SPLIT_K=9")), "none");
  EXPECT_EQ(order_of("naive/BM=16,BN=16,COALESCED=1,PRED=0"), "naive rising");
  EXPECT_EQ(order_of("wgmma/AB=2,CD=2,BM=64,BN=16,GROUPS=1,PINGPONG=0,TA=0,TB=1"), "wgmma rising");
  const std::string cluster = "wgmma/AB=2,CD=2,BM=64,BN=32,GROUPS=1,PINGPONG=0,SPLIT_K=2,TA=1,TB=0";
  EXPECT_EQ(order_of(cluster), "wgmma rising,K_SHARES=2");
  EXPECT_EQ(order_of(with_replaced(cluster, "SPLIT_K=2", "K_SHARES=2")), order_of(cluster));
  EXPECT_EQ(order_of(with_replaced(cluster, "SPLIT_K=2", "K_SHARES=4")), "wgmma rising,K_SHARES=4");
  EXPECT_EQ(order_of(with_replaced(cluster, "SPLIT_K=2", "SPLIT_K=4,K_SHARES=4")),
            "wgmma rising,K_SHARES=4");
  EXPECT_EQ(order_of(with_replaced(cluster, "SPLIT_K=2", "SPLIT_K=4")), "none");
  EXPECT_EQ(
      order_of("wgmma/AB=3,CD=2,BM=64,BN=32,GROUPS=1,PINGPONG=0,SPLIT_K=2,PROMOTE=64,TA=0,TB=1"),
      "wgmma PROMOTE=64,K_SHARES=2");
  EXPECT_EQ(order_of("wgmma/AB=1,CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,REDUCE=1,TA=0,TB=1"), "none");
  EXPECT_EQ(order_of("wgmma/AB=3,CD=2,BM=64,BN=16,GROUPS=1,PINGPONG=0,TA=0,TB=1"),
            "wgmma PROMOTE=128");
  const std::string tiles =
      "warp_tiled/CLUSTER=0,BM=96,BN=32,BK=8,WM=16,WN=32,TM=4,TN=4,WARPS_K=1,STAGES=5,ASYNC=2,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1";
  EXPECT_EQ(order_of(tiles), "warp_tiled rising");
  EXPECT_EQ(order_of(with_replaced(tiles, "SPLIT_K=1", "SPLIT_K=2")), "none");
  EXPECT_EQ(order_of(with_replaced(tiles, "TAIL=0", "TAIL=1")), "none");
  EXPECT_EQ(order_of(with_replaced(tiles, "WARPS_K=1", "WARPS_K=2")), "none");
  EXPECT_EQ(order_of("tiled_2d/BM=64,BN=64,BK=8,TM=4,TN=4,PRED=1"), "none");
}

// The whole of D, of operands that the config's types and layout decide. Row 0 of A is of -0.
std::vector<char> product(const std::string& text, int m, int n, int k) {
  EmulatedKernel kernel(object_of(text), text);
  const Signature& types = kernel.config().traits.signature;
  const Layout layout = kernel.config().recipe.layout;
  const Problem problem = packed_problem(m, n, k, layout, 1, types);
  EXPECT_EQ(why_illegal(kernel.config().recipe, problem), std::nullopt) << text;
  const bool is_a_transposed = transposes_a(layout);
  Elements a(types.a, is_a_transposed ? k : m, is_a_transposed ? m : k, 1);
  const Elements b(types.b, transposes_b(layout) ? n : k, transposes_b(layout) ? k : n, 2);
  for (int i = 0; i < k; ++i) a.set(is_a_transposed ? i * m : i, -0.0f);
  std::vector<char> d(static_cast<std::size_t>(m * n * bytes_of(types.d)));
  GemmCall call = packed_call(problem);
  call.A = a.at(0);
  call.B = b.at(0);
  call.C = call.D = d.data();
  kernel.run(call, tensor_core_of(90));
  return d;
}

struct Extents {
  int m, n, k;
};

// Configs whose tiles, operands' places and consumers differ.
void expect_bits_of_a_cluster(std::initializer_list<Extents> problems) {
  int orders = 0;
  for (const auto& [order, configs] : configs_by_order()) {
    std::set<int> ctas;
    for (const std::string& text : configs) {
      const Traits& traits = check_config(parse_config(text)).traits;
      if (traits.split_k > 1 || traits.serial_shares > 1) ctas.insert(traits.split_k);
    }
    if (!ctas.contains(1)) continue;
    EXPECT_EQ(ctas.size(), 2u) << order;
    for (const auto& [m, n, k] : problems) {
      std::optional<std::vector<char>> all;
      for (const std::string& config : configs) {
        const std::vector<char> d = product(config, m, n, k);
        if (!all) all = d;
        EXPECT_EQ(d, *all) << order << "\n" << config << " " << k;
      }
    }
    ++orders;
  }
  EXPECT_EQ(orders, 7);
}

// Shares end inside and at ends of blocks of K, and some have none.
TEST(OrderOfSums, SharesOfOneCtaHaveTheBitsOfACluster) {
  expect_bits_of_a_cluster({{40, 24, 328}, {40, 24, 40}, {40, 24, 256}});
}

TEST(OrderOfSums, SharesOfOneCtaHaveTheBitsOfAClusterInEachOfSeveralTiles) {
  expect_bits_of_a_cluster({{136, 72, 40}, {72, 200, 256}});
}

TEST(OrderOfSums, OfSharesIsThatOfAClusterAndOfTheWorkspace) {
  Products cluster(kCluster), workspace(kWorkspace);
  EXPECT_EQ(workspace.of_rows(0, kRows), cluster.of_rows(0, kRows));
  // Rounding tells orders apart: this one is another than that without shares.
  EXPECT_NE(Products(kSquareTiles).of_rows(0, kRows), cluster.of_rows(0, kRows));
}

}  // namespace
}  // namespace gemm_tune::emulator
