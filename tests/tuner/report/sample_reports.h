// SPDX-License-Identifier: Apache-2.0
// Reports of made-up runs, for tests of their text and JSON.
#pragma once

#include <string>

#include "tuner/plan/problem_report.h"

namespace gemm_tune::sample {

inline constexpr const char* kLongConfig =
    "warp_tiled/CLUSTER=0,BM=64,BN=128,BK=8,WM=32,WN=128,TM=8,TN=16,WARPS_K=1,STAGES=2,ASYNC=2,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,PRED=0";
inline ProblemReport predicted() {
  ProblemReport report;
  report.problem = packed_problem(1024, 1024, 1024);
  report.seconds = 17.04;
  report.budget = 16;
  report.funnel.enumerated = 574'895'862;
  report.funnel.rejected_by_rule = {{"warp tile does not divide CTA tile", 282'268'800},
                                    {"warp tile is not that of 4 x 8 or 8 x 4 lanes", 254'897'280},
                                    {"more than 512 threads per CTA", 21'954'240},
                                    {"more stages than slices", 30'384}};
  report.funnel.left = report.funnel.searched = 252'727;
  report.funnel.tried = report.funnel.survived = 16;
  report.prior.emplace();
  TuneWinner winner{check_config(parse_config(kLongConfig)), {}, {}};
  winner.outcome.predicted_us = 84.768;
  report.winner = winner;
  return report;
}

inline ProblemReport measured() {
  ProblemReport report = predicted();
  report.funnel.tried = 16;
  report.funnel.survived = 14;
  report.funnel.rejected_by_resources = {{"registers spill to local memory", 2}};
  report.expected_gain = ExpectedGain{16, 0.0123};
  Outcome& outcome = report.winner->outcome;
  outcome.timing = Timing{50, {49, 49.5, 50, 50, 50.5, 51.25}, 4, 64};
  outcome.error = 3e-7;
  report.winner->baselines = {{"cublasSgemm", "13.1.0", {40, {40}, 5, 80}, 2e-7}};
  return report;
}

// Everything that a report may have to say at once.
inline ProblemReport with_every_remark() {
  ProblemReport report = measured();
  report.problem = parse_problem("1000000x1000000x1000000:layout=nt:align=4:batch=65535");
  report.winner->baselines.push_back({"cublasLt", "13.1.0", {60, {60}, 5}, {}, 37});
  report.winner->baselines.push_back({"cublasGemmEx-autotuned", "13.1.0", {60, {60}, 5}, 2e-7});
  report.winner->outcome.timing->disturbance = "2 of 15 samples under power brake";
  report.others = {"python3 (12345)", "another (12346)"};
  report.absent_baselines = {"cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED"};
  report.error_limit = {1.25, 1234, 0.5};
  report.stale = 1234;
  report.tied = {*report.winner};
  report.occupancy_disagreements = 7;
  report.funnel.searched = 1000;
  report.funnel.failed_on_gpu = {{"crashed", 3}};
  report.funnel.compile_failed = {{std::string(5000, 'x') + "\nand more", 300'000'000}};
  report.funnel.recalled = 3;
  report.target_met = true;
  return report;
}

}  // namespace gemm_tune::sample
