// SPDX-License-Identifier: Apache-2.0
// GT_POLICY_BATCH_INVARIANT: look-ups that differ in M alone have kernels of one order of sums.
#include <gtest/gtest.h>

#include <gemm_tune/gemm_tune.hpp>
#include <set>
#include <string>

#include "kernel_templates/registry/order_of_sums.h"
#include "tests/db/fixture.h"

namespace gemm_tune {
namespace {

const gt_device kOn = {"sm_86", "NVIDIA RTX A6000", 84};

class BatchInvariantTest : public DbTest {
 protected:
  Handle opened() const {
    gt_options options = GT_OPTIONS_INIT;
    const std::string path = file_.string();
    options.database_path = path.c_str();
    options.policy = GT_POLICY_BATCH_INVARIANT;
    return Handle(options);
  }

  static std::string order_of(const gt_recipe& recipe) {
    return order_of_sums(check_config(parse_config(recipe.config))).value_or("unknown");
  }

  static gt_gemm_call bf16(std::int64_t m, std::int64_t n, std::int64_t k) {
    gt_gemm_call call = make_call(m, n, k);
    call.type_a = call.type_b = GT_BF16;
    call.trans_b = GT_TRANSPOSE;
    return call;
  }
};

TEST_F(BatchInvariantTest, CallsThatDifferInMAloneHaveKernelsOfOneOrder) {
  {
    Database database(file_, Database::Mode::create_or_open);
    const KernelRevisions revisions = current_revisions();
    database.begin_run(kRun, revisions);
    const auto store = [&](const std::string& m, int split_k, double us) {
      const std::string config =
          "mma/AB=2,CD=0,BM=16,BN=32,BK=64,WM=16,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,"
          "SPLIT_K=" +
          std::to_string(split_k) + ",TA=0,TB=1,PRED=1";
      database.store(kA6000, parse_problem(m + "x512x1024:type=bf16/bf16/f32/f32:layout=nt"),
                     config, revisions.at("mma"), measured(us), Source::measured);
    };
    store("1", 4, 4);
    store("16", 4, 5);
    store("64", 1, 1);
  }
  const Handle handle = opened();
  std::set<std::string> orders;
  for (std::int64_t m = 1; m <= 130; ++m) {
    const gt_recipe recipe = handle.lookup(kOn, bf16(m, 512, 1024));
    orders.insert(order_of(recipe));
  }
  EXPECT_EQ(orders, std::set<std::string>{"mma MMA_K=16,SPLIT_K=4,BK=64"});
  EXPECT_NE(handle.explain(kOn, bf16(64, 512, 1024))
                .find("in the order of sums mma MMA_K=16,SPLIT_K=4,BK=64 for every M: the winner "
                      "for M = 16 on"),
            std::string::npos);
  // As cuBLAS's callers have it: D^T of M columns.
  gt_gemm_call columns = bf16(512, 64, 1024);
  columns.order = GT_COLUMN_MAJOR;
  columns.trans_a = GT_TRANSPOSE;
  columns.trans_b = GT_NO_TRANSPOSE;
  EXPECT_EQ(order_of(handle.lookup(kOn, columns)), "mma MMA_K=16,SPLIT_K=4,BK=64");
}

TEST_F(BatchInvariantTest, CublasNeverServesAndADefaultDoes) {
  { const Database empty = writable(file_); }
  const Handle handle = opened();
  for (const std::int64_t m : {1, 64, 4096}) {
    const gt_recipe recipe = handle.lookup(kOn, make_call(m, 333, 77));
    EXPECT_EQ(recipe.match, GT_MATCH_DEFAULT);
    EXPECT_EQ(order_of(recipe), "warp_tiled rising") << recipe.config;
  }
}

}  // namespace
}  // namespace gemm_tune
