// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/slow_work.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/text/printable.h"
#include "tuner/process/signals_blocked.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

// If the line is longer than `columns`, the middle of the stage is cut first: the end of the stage
// says how far the work is.
std::string line_of(const std::string& stage, std::size_t columns) {
  const std::string begin = "gemm-tune: ";
  const std::string line = begin + printable(stage);
  if (columns_of(line) <= columns) return line;
  constexpr std::size_t kNote = 24;  // "[... 123456 bytes ...]"
  const std::size_t kept = columns - std::min(columns, begin.size() + kNote);
  return cut_to_columns(begin + printable(stage, kept), columns);
}

}  // namespace

SlowWork::SlowWork(bool quiet, std::string stage, const Pace& pace)
    : stage_(std::move(stage)), terminal_(isatty(STDERR_FILENO) != 0) {
  if (quiet) return;
  const SignalsBlocked blocked;
  writer_ = std::thread([this, pace] { write_stages(pace); });
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

void SlowWork::write_stages(const Pace& pace) {
  const std::chrono::milliseconds interval = terminal_ ? pace.on_terminal : pace.elsewhere;
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, pace.first, [this] { return has_ended_; })) return;
  do {
    // A line that fills the last column would wrap on some terminals.
    const std::size_t columns =
        terminal_ ? terminal_columns(STDERR_FILENO) - 1 : std::numeric_limits<std::size_t>::max();
    clear_line();
    std::fprintf(stderr, "%s%s", line_of(stage_, columns).c_str(), terminal_ ? "" : "\n");
    std::fflush(stderr);
    is_shown_ = terminal_;
  } while (!ended_.wait_for(lock, interval, [this] { return has_ended_; }));
}

}  // namespace gemm_tune
