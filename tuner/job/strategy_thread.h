// SPDX-License-Identifier: Apache-2.0
// Runs a strategy in a thread of its own, so that the caller serves workers meanwhile.
//
// On a large space an ask takes milliseconds and a model's refit a good part of a second, in which
// GPUs and compilers would wait for their next task. Use from one thread.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/strategy.h"

namespace gemm_tune {

class StrategyThread {
 public:
  // Throws Error where the system has no descriptor left.
  explicit StrategyThread(std::unique_ptr<Strategy> strategy);
  ~StrategyThread();  // waits for the ask under way
  StrategyThread(const StrategyThread&) = delete;
  StrategyThread& operator=(const StrategyThread&) = delete;

  // The strategy learns of the result before its next ask.
  void tell(std::size_t point, std::optional<double> time_us);

  // Begins to ask for so many points. Precondition: not is_asking().
  void begin_ask(std::size_t count);
  bool is_asking() const { return answer_.valid(); }

  // A descriptor that is readable once there is an answer: the points, none where the space is
  // exhausted. What the strategy threw is thrown here.
  int fd() const { return fd_; }
  std::optional<std::vector<std::size_t>> answer();

  // These wait.
  std::vector<std::size_t> ask(std::size_t count);
  std::optional<double> expected_gain(std::size_t tries);

 private:
  void pass_on_results();

  std::unique_ptr<Strategy> strategy_;  // used by the other thread during an ask
  std::vector<std::pair<std::size_t, std::optional<double>>> told_;
  std::future<std::vector<std::size_t>> answer_;
  int fd_;
};

}  // namespace gemm_tune
