// SPDX-License-Identifier: Apache-2.0
// From a config to its outcome, by way of worker processes: compile, reject by resources, verify
// and time - or predict, where there is no GPU of the target.
//
// What a candidate does to its worker is its own outcome and nobody else's: a verdict of wrong or
// unlaunchable is believed only from a worker that has served nothing before, since an earlier
// candidate may have written where it should not. A failure that the environment caused is tried
// once more in the same run. Use from one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/job/tune_request.h"
#include "tuner/work/protocol.h"
#include "tuner/work/scratch_dir.h"
#include "tuner/work/worker_pool.h"

namespace gemm_tune {

class Trials {
 public:
  using Done = std::function<void(Outcome)>;
  // The best time of the problem so far, if any; asked when a GPU is free for a candidate.
  using BestSoFar = std::function<std::optional<double>()>;

  explicit Trials(const TuneRequest& request);

  // Tries the candidate; `done` is called from some later wait(), or at once where its compilation
  // is known and its resources decide. It is timed only as long as it could still beat the best.
  // Throws DeviceError, here and from wait(), where a worker's environment fails.
  void start(const KnownConfig& config, const Problem& problem, const BestSoFar& best_us,
             Done done);

  // Verifies the config on the GPU at small and ragged shapes only, and times nothing.
  void verify(const KnownConfig& config, const Problem& problem, Done done);

  // The configs and the baselines timed in turn on one GPU. Nothing where the run was interrupted.
  std::optional<FinalsReply> finals(const std::vector<KnownConfig>& configs,
                                    const Problem& problem);

  // Whether one more under way would keep compilers and GPUs busier.
  bool wants_more() const;

  // Compiles what is likely to be tried next; nobody is told.
  void compile_ahead(const std::vector<KnownConfig>& configs);

  // Until something is done, a second has passed, a signal has come, or `also` can be read.
  void wait(int also = -1);

  // Kills what is under way; its `done` is not called.
  void abandon();

  // Seconds spent on tasks so far, summed over the processes of a kind.
  struct Busy {
    double compilers_s = 0, measurers_s = 0;
  };
  Busy busy() const { return {compilers_.busy().count(), measurers_.busy().count()}; }
  // Tasks that were tried once more.
  std::size_t retries() const { return retried_.size(); }
  std::size_t compilers() const { return compilers_.size(); }
  std::size_t measurers() const { return measurers_.size(); }

 private:
  using OnCompiled = std::function<void(const CompileReply&)>;
  struct Waiting {
    OnCompiled then;
    Done failed;
  };

  void submit(WorkerPool& pool, const Task& task);
  void compile(const KnownConfig& config, OnCompiled then, Done failed);
  void compiled(const std::string& text, const TaskResult& result);
  void measure(MeasureRequest request, bool fresh, const BestSoFar& best_us, Done done);
  MeasureRequest measure_request(const Problem& problem, const CompileReply& compiled) const;
  Outcome after_compile(const KnownConfig& config, const Problem& problem,
                        const CompileReply& compiled) const;
  bool compile_all(const std::vector<KnownConfig>& configs);

  const TuneRequest& request_;
  ScratchDir cubins_;
  WorkerPool compilers_, measurers_;
  // By config text.
  std::map<std::string, CompileReply> compiled_;
  std::map<std::string, std::vector<Waiting>> compiling_;
  std::set<std::string> retried_;  // tasks, by verb and request
};

}  // namespace gemm_tune
