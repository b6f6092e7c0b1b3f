// SPDX-License-Identifier: Apache-2.0
// The worker processes of a run on this machine: its compilers, and one measuring worker for each
// GPU. Use from one thread.
#pragma once

#include "tuner/plan/tune_request.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {

class LocalWorkers : public TaskPools {
 public:
  explicit LocalWorkers(const TuneRequest& request);

  TaskPool& compilers() override { return compilers_; }
  TaskPool& measurers() override { return measurers_; }
  void wait(std::chrono::milliseconds timeout, int also) override {
    WorkerPool::wait({&compilers_, &measurers_}, timeout, also);
  }

 private:
  WorkerPool compilers_, measurers_;
};

}  // namespace gemm_tune
