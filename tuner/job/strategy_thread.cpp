// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/strategy_thread.h"

#include <chrono>

#include "tuner/process/signals_blocked.h"

namespace gemm_tune {
namespace {

// Rings in its destructor.
class Announcement {
 public:
  explicit Announcement(Bell& bell) : bell_(bell) {}
  ~Announcement() { bell_.ring(); }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  Bell& bell_;
};

}  // namespace

StrategyThread::StrategyThread(std::unique_ptr<Strategy> strategy)
    : strategy_(std::move(strategy)) {}

StrategyThread::~StrategyThread() {
  if (is_asking()) answer_.wait();
}

void StrategyThread::tell(std::size_t point, std::optional<double> time_us) {
  told_.emplace_back(point, time_us);
}

void StrategyThread::spare(std::size_t point) { spared_.push_back(point); }

void StrategyThread::pass_on_results() {
  for (const auto& [point, time_us] : std::exchange(told_, {})) strategy_->tell(point, time_us);
  for (const std::size_t point : std::exchange(spared_, {})) strategy_->spare(point);
}

void StrategyThread::begin_ask(std::size_t count) {
  const SignalsBlocked blocked;
  pass_on_results();
  answer_ = std::async(std::launch::async, [this, count] {
    const Announcement announcement(bell_);
    return strategy_->ask(count);
  });
}

std::optional<std::vector<std::size_t>> StrategyThread::answer() {
  if (!is_asking() || answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  bell_.quiet();
  return answer_.get();
}

std::vector<std::size_t> StrategyThread::ask(std::size_t count) {
  if (is_asking()) answer_.wait();
  pass_on_results();
  return strategy_->ask(count);
}

std::optional<double> StrategyThread::expected_gain(std::size_t tries) {
  if (is_asking()) answer_.wait();
  pass_on_results();
  return strategy_->expected_gain(tries);
}

std::optional<double> StrategyThread::gain_under_way() {
  if (is_asking()) answer_.wait();
  pass_on_results();
  return strategy_->gain_under_way();
}

std::optional<Outlook> StrategyThread::outlook() {
  if (is_asking()) answer_.wait();
  pass_on_results();
  return strategy_->outlook();
}

}  // namespace gemm_tune
