// SPDX-License-Identifier: Apache-2.0
// The rows of gemm-tune bench as text of 80 columns and as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuner/job/bench.h"

namespace gemm_tune {

// Over the columns of bench_lines().
std::string bench_head();

// Two lines, hot and cold: our time, and how many times faster than each baseline we are. A ratio
// below 1 is a loss, marked by "<".
std::string bench_lines(const BenchRow& row);

// Geometric means over the rows, the losses once more, and what was not timed.
std::string bench_end(const std::vector<BenchRow>& rows);

// {"rows": ..., "geometric_means": {"hot": {"cublas": 1.05, ...}, "cold": ...}}; "better" is of
// cublas and cublaslt. A mean of nothing is null.
nlohmann::json bench_json(const std::vector<BenchRow>& rows);

}  // namespace gemm_tune
