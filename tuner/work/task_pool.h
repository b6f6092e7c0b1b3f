// SPDX-License-Identifier: Apache-2.0
// Tasks for workers, whatever serves them: the processes of this machine
// (tuner/work/worker_pool.h), or those of other machines (tuner/cluster).
//
// A request is a plain value, and so is a result. The owner of a task hears of it from its own
// wait(), in its own thread. Use an object from one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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
  bool fresh = false;  // the worker had served nothing before
  // The environment's doing and not the task's, where it died or was timed out: killed or stopped
  // by somebody, or without memory.
  bool by_environment = false;
  double seconds = 0;  // that a worker spent on it
  // Where it was measured, as an agent of a job and a GPU there: times of equal pairs compare.
  std::pair<std::uint64_t, std::size_t> gpu = {};
};

struct Task {
  std::string verb;
  nlohmann::json request;
  std::chrono::milliseconds limit{};
  bool fresh = false;  // wants a worker that has served nothing
  std::function<void(TaskResult)> done;
  // Called before the request goes to a worker: for what is large, or known better by then.
  std::function<void(nlohmann::json& request)> update = nullptr;
};

// Workers of one role.
class TaskPool {
 public:
  virtual ~TaskPool() = default;

  virtual void submit(Task task) = 0;

  // Tasks queued or under way.
  virtual std::size_t pending() const = 0;
  // The number of tasks that are worked on at the same time.
  virtual std::size_t size() const = 0;
  // What the workers have spent on tasks so far, all of them together.
  virtual std::chrono::duration<double> busy() const = 0;

  // Forgets all tasks, and ends those under way where that is possible; their `done` is not called.
  virtual void abandon() = 0;
};

// The workers of a run.
class TaskPools {
 public:
  virtual ~TaskPools() = default;

  virtual TaskPool& compilers() = 0;
  virtual TaskPool& measurers() = 0;

  // Waits until some task is done, or the timeout, or a signal, or until the descriptor `also` can
  // be read, where there is one; calls `done` for each task.
  virtual void wait(std::chrono::milliseconds timeout, int also) = 0;

  // Nothing more will be submitted: others may use what these workers had.
  virtual void finished() {}
};

}  // namespace gemm_tune
