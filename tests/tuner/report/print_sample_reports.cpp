// SPDX-License-Identifier: Apache-2.0
// Prints the JSON of made-up measured reports, as a run on a GPU would: the check of the schema
// needs no GPU. With an argument: of made-up rows of bench.
#include <cstdio>

#include "tests/tuner/report/sample_reports.h"
#include "tuner/report/bench_table.h"
#include "tuner/report/problem_json.h"
#include "tuner/report/report.h"

namespace {

// A row with baselines, and one of a problem that is not tuned.
void print_bench() {
  using namespace gemm_tune;
  const TuneWinner winner = sample::measured().winner.value();
  BenchRow row;
  row.what = {sample::measured().problem, winner.config};
  row.outcome = winner.outcome;
  row.baselines = winner.baselines;
  row.absent = {"cublasGemmEx-autotuned: no such algorithm"};
  BenchRow none;
  none.what.problem = row.what.problem;
  nlohmann::json json = bench_json({row, none});
  json["format_version"] = 1;
  json["arch"] = "sm_90";
  json["device"] = "NVIDIA H100 80GB HBM3";
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

int main(int argc, char**) {
  using namespace gemm_tune;
  if (argc > 1) {
    print_bench();
    return 0;
  }
  const Target target{find_device_spec("sm_90").value(), true, {0}, "580.0", ""};
  ProblemReport conditioned = sample::measured();
  conditioned.winner->outcome.timing->conditions = GpuConditions{1980, 650.5, 61};
  ProblemReport none = sample::measured();
  none.winner.reset();
  none.failure = "it needs 90 GiB";
  none.cut_short = CutShort::by_time_limit;
  nlohmann::json all = nlohmann::json::array();
  for (const ProblemReport& report :
       {sample::measured(), sample::with_every_remark(), conditioned, none}) {
    all.push_back(problem_json(report, target));
  }
  std::printf("%s\n", all.dump(2).c_str());
}
