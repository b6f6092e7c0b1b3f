// SPDX-License-Identifier: Apache-2.0
// Tasks for workers, wherever these are: the processes of this machine or of others
// (tuner/agents/broker.h).
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
  std::uint64_t number = 0;  // its owner's, for WorkerPool::hurry() and TaskPool::abandon()
};

// All workers of one role, whoever owns the tasks.
struct WorkersLoad {
  std::size_t busy = 0, all = 0;  // now
  double seconds = 0;             // spent on tasks that have ended
};

// Workers of one role, for one of those who share them.
class TaskPool {
 public:
  virtual ~TaskPool() = default;

  virtual void submit(Task task) = 0;

  // Its owner's tasks, queued or under way.
  virtual std::size_t pending() const = 0;
  // The number of tasks that its owner may expect to be worked on at the same time.
  virtual std::size_t size() const = 0;
  virtual WorkersLoad load() const = 0;

  // Forgets its owner's tasks and ends those under way soon; their `done` is not called.
  virtual void abandon() = 0;
  // The same of one task, by Task::number.
  virtual void abandon(std::uint64_t number) = 0;
};

// The workers of a run, for one of those who share them.
class TaskPools {
 public:
  virtual ~TaskPools() = default;

  virtual TaskPool& compilers() = 0;
  virtual TaskPool& measurers() = 0;

  // Waits until some task is done, or the timeout, or a signal, or until the descriptor `also` can
  // be read, where there is one; calls `done` for each task.
  virtual void wait(std::chrono::milliseconds timeout, int also) = 0;

  // Whether its owner searches, and so expects its share of the workers: at other times it has few
  // tasks, and others may use that share.
  virtual void set_searching(bool /*searches*/) {}

  // Nothing more will be submitted.
  virtual void finished() {}
};

}  // namespace gemm_tune
