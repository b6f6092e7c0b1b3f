// SPDX-License-Identifier: Apache-2.0
// One child process and the pipe to it; the parent's side.
//
// Candidates are compiled and run in such children, never in the program itself: a sticky CUDA
// error cannot be cleared in-process, and NVRTC scales over processes, not threads. Spawned and
// exec'd. A child greets when it is set up, then answers one request at a time; it ends when its
// pipe closes or its parent dies. Use from one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tuner/process/running_clock.h"
#include "tuner/work/frame.h"

namespace gemm_tune {

// A worker's command line, its program first.
using WorkerCommand = std::vector<std::string>;

// The time by which the limits of one worker count: RunningClock's unless told. The worker is named
// so that a test can let one of them be late alone.
using WorkerClock = std::function<RunningClock::time_point(pid_t worker)>;

class WorkerProcess {
 public:
  // Throws Error if it cannot start.
  explicit WorkerProcess(WorkerCommand command, WorkerClock clock = nullptr);
  ~WorkerProcess();  // an idle child leaves by itself, a busy one is killed; either is reaped
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;

  // The descriptor to poll, for replies and, while is_sending(), for room.
  int fd() const { return fd_; }
  pid_t pid() const { return pid_; }

  // Since its start, or since the request that it is at work on.
  RunningClock::duration busy_for() const { return now() - busy_since_; }
  bool ready() const { return state_ != State::starting; }
  bool idle() const { return state_ == State::idle; }
  // Requests answered.
  int served() const { return served_; }

  // Sends {verb: request}, without waiting for room in the pipe: receive() sends the rest.
  // Precondition: idle. A child that is already gone shows at receive(). Throws Error where the
  // request is too long for a frame.
  void send(const std::string& verb, const nlohmann::json& request);
  bool is_sending() const { return !unsent_.empty(); }

  enum class Status { partial, greeting, reply, died };

  // Sends and reads what is possible without blocking. After `greeting` and `reply` the worker is
  // idle and reply() holds what it said; after `died` ending() says how it ended.
  Status receive();
  const nlohmann::json& reply() const { return reply_; }

  // How the child ended, which is reaped.
  struct Ending {
    std::string text;           // "was killed by signal 11 (Segmentation fault)"
    bool from_outside = false;  // by a signal of the kind that others send, and we did not
  };
  Ending ending();

  // Whether somebody has stopped the child (SIGSTOP) since it was sent its request.
  bool was_stopped() const { return take_stops(/*keep=*/true); }

  // Closes the pipe, and kills the child unless it is idle. Does not wait for its end.
  void let_go() noexcept;
  // Whether a child that was let go has ended, and is reaped. A GPU takes its time over the end of
  // a process. Kills a child that has had seconds to leave by itself.
  bool is_gone() noexcept;

 private:
  enum class State { starting, idle, busy };

  RunningClock::time_point now() const { return clock_ ? clock_(pid_) : RunningClock::now(); }
  void end() noexcept;
  void send_some();
  Status take(nlohmann::json message);
  bool take_stops(bool keep) const;

  WorkerClock clock_;
  pid_t pid_ = -1;
  int fd_ = -1;
  State state_ = State::starting;
  bool is_garbled_ = false;  // it sent something that is no reply
  RunningClock::time_point busy_since_;
  RunningClock::time_point let_go_at_;
  int served_ = 0;
  std::string unsent_;  // of the request
  FrameReader received_;
  nlohmann::json reply_;
};

}  // namespace gemm_tune
