// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/strategy_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "core/error.h"
#include "tuner/work/interrupt.h"

namespace gemm_tune {
namespace {

// Signals the descriptor when it goes.
class Announcement {
 public:
  explicit Announcement(int fd) : fd_(fd) {}
  ~Announcement() { eventfd_write(fd_, 1); }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  int fd_;
};

}  // namespace

Thinker::Thinker(std::unique_ptr<Strategy> strategy)
    : strategy_(std::move(strategy)), fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ >= 0) return;
  throw DeviceError(std::string("the system gives no event descriptor (") + std::strerror(errno) +
                    "): raise the limit on open files (ulimit -n)");
}

Thinker::~Thinker() {
  if (is_thinking()) thought_.wait();
  close(fd_);
}

void Thinker::tell(std::size_t point, std::optional<double> time_us) {
  told_.emplace_back(point, time_us);
}

void Thinker::take_in() {
  for (const auto& [point, time_us] : std::exchange(told_, {})) strategy_->tell(point, time_us);
}

void Thinker::think(std::size_t count) {
  const SignalsBlocked blocked;
  take_in();
  thought_ = std::async(std::launch::async, [this, count] {
    const Announcement announcement(fd_);
    return strategy_->ask(count);
  });
}

std::optional<std::vector<std::size_t>> Thinker::answer() {
  if (!is_thinking() || thought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
  return thought_.get();
}

std::vector<std::size_t> Thinker::ask(std::size_t count) {
  if (is_thinking()) thought_.wait();
  take_in();
  return strategy_->ask(count);
}

std::optional<double> Thinker::expected_gain(std::size_t tries) {
  if (is_thinking()) thought_.wait();
  take_in();
  return strategy_->expected_gain(tries);
}

}  // namespace gemm_tune
