// SPDX-License-Identifier: Apache-2.0
// A run's results in short: a line for each problem, or a table of several. Pure: values in, text
// out; tuner/report/report.h has the long form.
#pragma once

#include <string>
#include <vector>

#include "tuner/app/target.h"
#include "tuner/job/problem_report.h"

namespace gemm_tune {

// "1024x1024x1024  FAMILY/...  48.7 us  44.1 TFLOP/s  1.171 of cublasSgemm", or "(predicted, not
// timed)" in place of the last, or why there is no winner. Without a line end.
std::string result_line(const ProblemReport& report, const Target& target);

// A line for each problem below a heading: family, time, throughput and share of cuBLAS's speed.
// Within 80 columns unless a problem's text is long.
std::string results_table(const std::vector<ProblemReport>& reports, const Target& target);

}  // namespace gemm_tune
