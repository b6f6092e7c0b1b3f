// SPDX-License-Identifier: Apache-2.0
#include "tuner/slow_work.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "core/printable.h"

namespace gemm_tune {

SlowWork::SlowWork(bool quiet, std::string stage)
    : stage_(std::move(stage)), terminal_(isatty(STDERR_FILENO) != 0) {
  if (!quiet) writer_ = std::thread([this] { write_stages(); });
}

SlowWork::~SlowWork() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  if (writer_.joinable()) writer_.join();
  clear_line();
}

void SlowWork::now_at(std::string stage) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(stage);
}

void SlowWork::clear() {
  const std::lock_guard lock(mutex_);
  clear_line();
}

void SlowWork::clear_line() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
  is_shown_ = false;
}

void SlowWork::write_stages() {
  using namespace std::chrono_literals;
  const std::chrono::milliseconds interval = terminal_ ? 500ms : 10'000ms;
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, 2s, [this] { return has_ended_; })) return;
  do {
    constexpr std::size_t kLongest = 60;  // a terminal's line
    clear_line();
    std::fprintf(stderr, "gemm-tune: %s%s",
                 printable(stage_, terminal_ ? kLongest : kLongestMessage).c_str(),
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
    is_shown_ = terminal_;
  } while (!ended_.wait_for(lock, interval, [this] { return has_ended_; }));
}

}  // namespace gemm_tune
