// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/bench_table.h"

#include <sstream>

#include "tests/matchers.h"

namespace gemm_tune {
namespace {

Timing timing(double hot_us, std::optional<double> cold_us) {
  Timing timing;
  timing.median_us = hot_us;
  timing.cold_us = cold_us;
  return timing;
}

BenchRow row_of(std::int64_t edge, double hot_us, double cold_us) {
  BenchRow row;
  row.what.problem = packed_problem(edge, edge, edge);
  row.what.config = check_config(parse_config("naive/BM=16,BN=16,COALESCED=1,PRED=0"));
  row.outcome.timing = timing(hot_us, cold_us);
  row.baselines = {{"cublasSgemm", "13.1.0", timing(100, 120)},
                   {"cublasLt", "13.1.0", timing(90, 110), {}, 9},
                   {"cublasGemmEx-autotuned", "13.1.0", timing(95, {})}};
  return row;
}

TEST(BenchTable, ARowHasHotAndColdRatiosAndMarksLosses) {
  EXPECT_EQ(bench_head() + bench_lines(row_of(1024, 95, 100)),
            "problem                              us  TFLOP/s  /cublas /cublasLt /autotuned\n"
            "1024x1024x1024          hot          95    22.61    1.053     0.947<    1.000\n"
            "                        cold        100    21.47    1.200     1.100         -\n");
}

TEST(BenchTable, MeansAreGeometricAndLossesAreCounted) {
  const std::vector<BenchRow> rows = {row_of(1024, 45, 110), row_of(2048, 180, 110)};
  const std::string end = bench_end(rows);
  EXPECT_THAT(
      end,
      HasSubstr("geometric mean          hot                         1.111     1.000     1.056\n"));
  EXPECT_THAT(end,
              HasSubstr("over the better of cublas and cublasLt, hot: 1.000; behind at 1 of 2\n"));
  EXPECT_THAT(end,
              HasSubstr("over the better of cublas and cublasLt, cold: 1.000; behind at 0 of 2\n"));
  EXPECT_THAT(end,
              HasSubstr("beside: cublasGemmEx-autotuned 13.1.0, cublasLt 13.1.0, cublasSgemm"));
  const nlohmann::json means = bench_json(rows)["geometric_means"];
  EXPECT_NEAR(means["hot"]["cublas"], 100.0 / 90, 1e-12);
  EXPECT_NEAR(means["hot"]["better"], 1, 1e-12);
  EXPECT_EQ(means["cold"]["cublas-autotuned"], nullptr);
}

TEST(BenchTable, LongProblemsStandOnALineOfTheirOwnAndAllFits80Columns) {
  BenchRow row = row_of(1024, 123456.7, 100);
  row.what.problem = packed_problem(100000, 100000, 100000);
  row.what.problem.layout = Layout::nt;
  row.what.problem.batch = 64;
  const std::string text = bench_head() + bench_lines(row) + bench_end({row});
  EXPECT_THAT(text, HasSubstr("\n100000x100000x100000:layout=nt:batch=64\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace gemm_tune
