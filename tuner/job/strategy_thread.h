// SPDX-License-Identifier: Apache-2.0
// A strategy that thinks in a thread of its own, so that workers are served meanwhile.
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

class Thinker {
 public:
  // Throws Error where the system has no descriptor left.
  explicit Thinker(std::unique_ptr<Strategy> strategy);
  ~Thinker();  // waits for the thought under way
  Thinker(const Thinker&) = delete;
  Thinker& operator=(const Thinker&) = delete;

  // Counts from the next thought on.
  void tell(std::size_t point, std::optional<double> time_us);

  // Begins to think of so many points; only where it is not thinking.
  void think(std::size_t count);
  bool is_thinking() const { return thought_.valid(); }

  // A descriptor that is readable once there is an answer: the points, none where the space is
  // exhausted. What the strategy threw is thrown here.
  int fd() const { return fd_; }
  std::optional<std::vector<std::size_t>> answer();

  // These wait.
  std::vector<std::size_t> ask(std::size_t count);
  std::optional<double> expected_gain(std::size_t tries);

 private:
  void take_in();

  std::unique_ptr<Strategy> strategy_;  // while it thinks, the other thread's
  std::vector<std::pair<std::size_t, std::optional<double>>> told_;
  std::future<std::vector<std::size_t>> thought_;
  int fd_;
};

}  // namespace gemm_tune
