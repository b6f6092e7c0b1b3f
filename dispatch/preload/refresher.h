// SPDX-License-Identifier: Apache-2.0
// A thread that does something every few seconds until the process exits.
//
// start() and stop() belong to one thread at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gemm_tune::preload {

class Refresher {
 public:
  Refresher() = default;
  ~Refresher();
  Refresher(const Refresher&) = delete;
  Refresher& operator=(const Refresher&) = delete;

  // Calls `work` in each interval, in a thread that has all signals blocked. exit() waits for a
  // call under way, and then for no further one, before what has been made by now is destroyed;
  // where `work` returns true, also before what this call has made is. Once in a process. Nothing
  // is done where the system gives no thread.
  void start(std::function<bool()> work, std::chrono::duration<double> interval);

 private:
  void run();
  static void stop_before_what_is_there();
  void stop();

  std::function<bool()> work_;
  std::chrono::steady_clock::duration interval_{};
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stops_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace gemm_tune::preload
