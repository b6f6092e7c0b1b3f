// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/bench.h"

#include <utility>

#include "tuner/job/trials.h"

namespace gemm_tune {

std::vector<BenchRow> bench(const TuneRequest& request, const std::vector<Benched>& all,
                            TaskPools& workers,
                            const std::function<void(const BenchRow&)>& on_row) {
  CompiledKernels kernels(request.device.arch, request.kernels, request.kernel_cache);
  Trials trials(request, kernels, workers);
  for (const Benched& one : all) {
    if (one.config) trials.compile_ahead({*one.config}, one.problem.epilogue);
  }
  std::vector<BenchRow> rows;
  for (const Benched& one : all) {
    BenchRow row{one, {}, {}, {}, {}};
    if (one.config) {
      std::optional<TimedFinals> reply = trials.finals({*one.config}, one.problem);
      if (!reply) break;
      row.outcome.timing = std::move(reply->finalists.at(0));
      row.outcome.error = reply->errors.at(0);
      row.baselines = std::move(reply->baselines);
      row.absent = std::move(reply->absent);
      row.others = std::move(reply->others);
    }
    on_row(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace gemm_tune
