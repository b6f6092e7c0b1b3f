// SPDX-License-Identifier: Apache-2.0
// Times tuned kernels beside every baseline, in turn, by the rule of the finals
// (docs/measurement.md). Stores nothing. Use from one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/problem/problem.h"
#include "db/record.h"
#include "kernel_templates/registry/registry.h"
#include "tuner/plan/tune_request.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

// A problem with the kernel that was tuned for it.
struct Benched {
  Problem problem;
  std::optional<KnownConfig> config;  // none: the problem is not tuned, and nothing is timed
};

struct BenchRow {
  Benched what;
  Outcome outcome;                  // with a timing and an error where there is a config
  std::vector<Baseline> baselines;  // those that cuBLAS does not refuse
  std::vector<std::string> absent;  // a sentence for each of the others
  std::vector<std::string> others;  // processes of others that computed on the GPU meanwhile
};

// Rows in the order of `all`, each told to `on_row` at once; fewer if the run is interrupted.
// request: for its device, GPU, baselines, objective and workers; it measures. Throws DeviceError
// where a kernel cannot be compiled or a worker's environment fails.
std::vector<BenchRow> bench(const TuneRequest& request, const std::vector<Benched>& all,
                            TaskPools& workers, const std::function<void(const BenchRow&)>& on_row);

}  // namespace gemm_tune
