// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/refresher.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace gemm_tune::preload {
namespace {

// The process's. exit() calls functions without arguments.
std::atomic<Refresher*> running = nullptr;
std::atomic<int> pid_of_running = 0;

}  // namespace

void Refresher::start(std::function<bool()> work, std::chrono::duration<double> interval) {
  work_ = std::move(work);
  interval_ = std::chrono::duration_cast<std::chrono::steady_clock::duration>(interval);
  running = this;
  pid_of_running = ::getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
    stop_before_what_is_there();
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Refresher::~Refresher() {
  if (running == this) running = nullptr;
  stop();
}

void Refresher::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, interval_, [this] { return stops_; })) {
    if (work_()) stop_before_what_is_there();
  }
}

// exit() calls the latest first, and destroys in this order what was made in between.
void Refresher::stop_before_what_is_there() {
  std::atexit([] {
    // A child of the process has no such thread, whatever it has inherited.
    Refresher* const one = running;
    if (one != nullptr && pid_of_running == ::getpid()) one->stop();
  });
}

void Refresher::stop() {
  {
    const std::lock_guard lock(mutex_);  // of a call under way
    stops_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace gemm_tune::preload
