// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/local_workers.h"

#include "tuner/work/worker.h"

namespace gemm_tune {
namespace {

std::vector<WorkerCommand> compile_workers(const TuneRequest& request) {
  return {request.jobs, compile_worker(request.worker)};
}

std::vector<WorkerCommand> measuring_workers(const TuneRequest& request) {
  std::vector<WorkerCommand> commands;
  for (const int ordinal : request.ordinals) {
    commands.push_back(measuring_worker(request.worker, ordinal));
  }
  return commands;
}

}  // namespace

LocalWorkers::LocalWorkers(const TuneRequest& request)
    : compilers_(compile_workers(request), /*warm_spares=*/false, request.worker_clock),
      measurers_(measuring_workers(request), /*warm_spares=*/true, request.worker_clock) {}

}  // namespace gemm_tune
