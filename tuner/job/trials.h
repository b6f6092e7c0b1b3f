// SPDX-License-Identifier: Apache-2.0
// Turns a config into its outcome by worker processes: compile, reject by resources, verify and
// time; or predict, if the target's GPU is not present.
//
// A verdict of wrong_result or launch_failed counts only from a fresh worker: in a used worker, an
// earlier candidate may have overwritten memory. The candidate is then measured again in a fresh
// worker. A failure that the environment caused is tried once more in the same run. Use from one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/job/compiled_kernels.h"
#include "tuner/plan/problem_report.h"
#include "tuner/plan/tune_request.h"
#include "tuner/work/protocol.h"
#include "tuner/work/task_pool.h"

namespace gemm_tune {

// One round of finals, and the GPU that it ran on (TaskResult::gpu).
struct TimedFinals : FinalsReply {
  std::pair<std::uint64_t, std::size_t> gpu;
};

class Trials {
 public:
  using Done = std::function<void(Outcome)>;
  // The problem's best time so far, if any; called when a GPU is free for a candidate.
  using BestSoFar = std::function<std::optional<double>()>;

  // kernels and pools must outlive this object. Several objects may share the kernels.
  Trials(const TuneRequest& request, CompiledKernels& kernels, TaskPools& pools);

  // Asks a GPU's worker which algorithms of libraries to try; none where the worker failed. Calls
  // `done` from a later wait().
  void propose(const Problem& problem, std::function<void(const std::vector<KnownConfig>&)> done);

  // Tries the candidate. Calls `done` from a later wait(), or at once if the compilation is known
  // and its resources decide. Timing stops as soon as the candidate can no longer beat the best.
  // Throws DeviceError, here and from wait(), if a worker's environment fails.
  void start(const KnownConfig& config, const Problem& problem, const BestSoFar& best_us,
             Done done);

  // Verifies the config on the GPU, at small and ragged shapes only. Times nothing.
  void verify(const KnownConfig& config, const Problem& problem, Done done);

  // Times the configs and the baselines in turn on one GPU. nullopt if the run was interrupted.
  std::optional<TimedFinals> finals(const std::vector<KnownConfig>& configs,
                                    const Problem& problem);

  // cuBLAS's error on this run's operands. nullopt if the run was interrupted.
  std::optional<double> cublas_error(const Problem& problem);

  // Puts every config that the winner is served as into the request's kernel cache, where there is
  // one, so that the library compiles none of them. Does nothing more once interrupted.
  void publish(const KnownConfig& winner, const Epilogue& epilogue);

  // Whether one more candidate would keep compilers and GPUs busier.
  bool wants_more() const;

  // Compiles configs that will probably be tried next. Reports no result.
  void compile_ahead(const std::vector<KnownConfig>& configs, const Epilogue& epilogue);

  // Returns when a task is done, a second has passed, a signal has come, or `also` is readable.
  void wait(int also = -1);

  // Whether the run shall end early.
  bool interrupted() const { return request_.interruption.requested(); }

  // Kills the running tasks without a call of their `done`.
  void abandon();
  // The same of the candidates whose compilation is queued or under way. Returns their number.
  // Other configs are compiled on.
  std::size_t abandon_compilations();

  // Of all problems under way.
  struct Load {
    WorkersLoad compilers, measurers;
  };
  Load load() const { return {compilers_.load(), measurers_.load()}; }
  // The number of tasks that were repeated.
  std::size_t retries() const { return retried_.size(); }
  std::size_t compilers() const { return compilers_.size(); }

  // Fills in how many compile processes and GPUs have a task.
  void tell_lanes(Progress& progress) const;

 private:
  using OnCompiled = std::function<void(const CompileReply&)>;
  struct Waiting {
    OnCompiled then;
    Done failed;
    bool is_candidate;  // that was started; false: compiled ahead, or for another reason
  };
  struct Compilation {
    std::uint64_t task = 0;
    std::vector<Waiting> waiting;
  };
  enum class For { a_candidate, later };

  void submit(TaskPool& pool, const Task& task);
  void compile(const KnownConfig& config, const Epilogue& epilogue, OnCompiled then, Done failed,
               For what = For::later);
  void compiled(const std::pair<std::string, std::string>& kernel, const TaskResult& result);
  void measure(MeasureRequest request, bool fresh, const BestSoFar& best_us, Done done);
  MeasureRequest measure_request(const Problem& problem, CompiledConfig candidate) const;
  Outcome after_compile(const KnownConfig& config, const Problem& problem,
                        const CompileReply& compiled) const;
  std::optional<TimedFinals> finals(const std::vector<KnownConfig>& configs, const Problem& problem,
                                    const std::vector<BaselineKind>& baselines);
  bool compile_all(const std::vector<KnownConfig>& configs, const Epilogue& epilogue);

  const TuneRequest& request_;
  CompiledKernels& kernels_;
  TaskPools& pools_;
  TaskPool &compilers_, &measurers_;
  // By the texts of config and epilogue.
  std::map<std::pair<std::string, std::string>, Compilation> compiling_;
  std::uint64_t next_compilation_ = 1;
  std::set<std::string> retried_;  // tasks, by verb and request
};

}  // namespace gemm_tune
