// SPDX-License-Identifier: Apache-2.0
// A few worker processes of one role, a queue of tasks for them, and what became of each task.
//
// A worker that dies or overstays a task's time limit is replaced; the task's own result says so
// and no later task is blamed: a worker gets a task only after it has greeted, and only when its
// predecessor has left the GPU. Where the system cannot start as many as asked, fewer serve. Time
// limits count in the time that this process has been running. Workers are started when first
// needed. Use from one thread.
#pragma once

#include <chrono>
#include <deque>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/process/running_clock.h"
#include "tuner/work/gpu_share.h"
#include "tuner/work/task_pool.h"
#include "tuner/work/worker_process.h"

namespace gemm_tune {

class WorkerPool {
 public:
  // One worker for each command. With warm spares, each has a set-up successor waiting: for
  // workers that take long to start and may be lost often. share: of the time of each worker's GPU;
  // tasks wait in the queue until it has rested.
  explicit WorkerPool(std::vector<WorkerCommand> commands, bool warm_spares = false,
                      WorkerClock clock = nullptr, GpuShare share = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(Task task);

  // Tasks queued or under way.
  std::size_t pending() const;
  std::size_t size() const { return slots_.size(); }

  // Waits until some task of some pool is done, or the timeout, or a signal, or until the
  // descriptor `also` can be read, where there is one; calls `done` for each task.
  static void wait(std::span<WorkerPool* const> pools, std::chrono::milliseconds timeout,
                   int also = -1);
  static void wait(std::initializer_list<WorkerPool*> pools, std::chrono::milliseconds timeout,
                   int also = -1) {
    wait(std::span<WorkerPool* const>(pools.begin(), pools.size()), timeout, also);
  }

  // Submits and waits. Throws DeviceError where the worker refused, died or overstayed.
  nlohmann::json call(const std::string& verb, nlohmann::json request,
                      std::chrono::milliseconds limit);

  // The reply of a task. Throws as call() does.
  static nlohmann::json reply_of(const std::string& verb, TaskResult result);

  // Nobody waits for the task of this number any more: it is done at once where it is queued, and
  // soon where it is under way, whatever its result. A worker with a spare, which takes long to
  // start, is given a second to end it and serve on; another one is killed.
  void hurry(std::uint64_t number);

 private:
  struct Slot {
    WorkerCommand command;
    std::optional<WorkerProcess> process;
    std::optional<WorkerProcess> spare;
    bool spare_failed = false;           // there may be too little memory for two
    std::vector<WorkerProcess> leaving;  // let go, but not gone
    RunningClock::time_point rests_until = RunningClock::time_point::min();
    std::optional<Task> task;
  };

  void start_tasks();
  bool rests(const Slot& slot) const;
  bool start(std::optional<WorkerProcess>& place, const WorkerCommand& command);
  void start_again();
  void prepare(Slot& slot);
  void discard(Slot& slot);
  void tend(Slot& slot);
  void tend_spare(Slot& slot);
  void greet(Slot& slot);
  void collect(Slot& slot);
  void finish(Slot& slot, TaskResult result);
  void refuse_next(const std::string& detail);

  // Time goes on for limits, a run's included, whatever the owner waits for outside of wait().
  const ClockReader clock_reader_;
  const WorkerClock clock_;
  const GpuShare share_;
  std::vector<Slot> slots_;
  bool warm_spares_;
  std::deque<Task> queue_;
  int failed_starts_ = 0;       // in a row
  std::string why_no_process_;  // why the system did not start the latest; usually empty
  RunningClock::time_point next_start_;
};

}  // namespace gemm_tune
