// SPDX-License-Identifier: Apache-2.0
// Prints the JSON of made-up measured reports, as a run on a GPU would: the check of the schema
// needs no GPU.
#include <cstdio>

#include "tests/tuner/sample_reports.h"
#include "tuner/report/report.h"

int main() {
  using namespace gemm_tune;
  const Target target{find_device_spec("sm_90").value(), true, {0}, 0, "580.0", ""};
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
