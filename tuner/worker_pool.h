// A few worker processes of one role, a queue of tasks for them, and what became of each task.
//
// A worker that dies or overstays a task's time limit is replaced; the task's own result says so
// and no later task is blamed. Workers are started when first needed. Use from one thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/worker_process.h"

namespace gemm_tune {

struct TaskResult {
  enum class Status {
    reply,      // `reply` holds the worker's answer
    refused,    // the worker's environment failed; `detail` says how
    died,       // `detail` says how the worker ended
    timed_out,  // `detail` names the limit
  };
  Status status = Status::reply;
  nlohmann::json reply;
  std::string detail;
};

struct Task {
  std::string verb;
  nlohmann::json request;
  std::chrono::milliseconds limit{};
  std::function<void(TaskResult)> done;
};

class WorkerPool {
 public:
  // argv: of each worker; empty for this binary's own.
  explicit WorkerPool(std::size_t workers, std::vector<std::string> argv = {});

  void submit(Task task);

  // Tasks queued or under way.
  std::size_t pending() const;
  std::size_t size() const { return workers_.size(); }

  // Waits until some task of some pool is done, or the timeout, or a signal; calls `done` for each.
  static void wait(std::initializer_list<WorkerPool*> pools, std::chrono::milliseconds timeout);

  // Submits and waits. Throws DeviceError where the worker refused, died or overstayed.
  nlohmann::json call(const std::string& verb, nlohmann::json request,
                      std::chrono::milliseconds limit);

  // Kills all workers and forgets all tasks; their `done` is not called.
  void abandon();

 private:
  struct Slot {
    std::optional<WorkerProcess> process;
    std::optional<Task> task;
  };

  void start_tasks();
  void collect(Slot& slot);
  void finish(Slot& slot, TaskResult result);

  std::vector<std::string> argv_;
  std::vector<Slot> workers_;
  std::deque<Task> queue_;
};

}  // namespace gemm_tune
