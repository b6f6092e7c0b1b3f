// One child process of this binary and the pipe to it; the parent's side.
//
// Candidates are compiled and run in such children, never in the program itself: a sticky CUDA
// error cannot be cleared in-process, and NVRTC scales over processes, not threads. Spawned and
// exec'd. A child ends when its pipe closes or its parent dies. Use from one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gemm_tune {

class WorkerProcess {
 public:
  // argv of the child; empty: this binary as `gemm-tune worker`. Throws Error if it cannot start.
  explicit WorkerProcess(std::vector<std::string> argv = {});
  ~WorkerProcess();  // an idle child leaves by itself, a busy one is killed; either is reaped
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;

  // The descriptor to poll for replies.
  int fd() const { return fd_; }

  bool busy() const { return started_.has_value(); }
  std::chrono::steady_clock::time_point busy_since() const { return started_.value(); }

  // Sends {verb: request}. Precondition: not busy. A child that is already gone shows at receive().
  void send(const std::string& verb, const nlohmann::json& request);

  enum class Status { partial, reply, died };

  // Reads what is there without blocking. After `reply` the worker is no longer busy and reply()
  // holds the answer; after `died` epitaph() says how it ended.
  Status receive();
  const nlohmann::json& reply() const { return reply_; }

  // "was killed by signal 11 (Segmentation fault)" or "exited with code 3". Reaps the child.
  std::string epitaph();

 private:
  void end() noexcept;

  pid_t pid_ = -1;
  int fd_ = -1;
  std::optional<std::chrono::steady_clock::time_point> started_;
  std::string buffer_;
  nlohmann::json reply_;
};

}  // namespace gemm_tune
