// SPDX-License-Identifier: Apache-2.0
// Runs a strategy in its own thread, so that the caller can serve workers meanwhile.
//
// On a large space an ask takes milliseconds and a refit of the model a good part of a second. GPUs
// and compilers would wait for their next task that long. Use from one thread.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/strategy/strategy.h"
#include "tuner/work/bell.h"

namespace gemm_tune {

class StrategyThread {
 public:
  // Throws DeviceError if the system has no free descriptor.
  explicit StrategyThread(std::unique_ptr<Strategy> strategy);
  ~StrategyThread();  // waits for the running ask
  StrategyThread(const StrategyThread&) = delete;
  StrategyThread& operator=(const StrategyThread&) = delete;

  // Passes a result on; the strategy learns it before its next ask.
  void tell(std::size_t point, std::optional<double> time_us);

  // Likewise that a point is not to be asked for.
  void spare(std::size_t point);

  // Starts to ask for `count` points. Precondition: not is_asking().
  void begin_ask(std::size_t count);
  bool is_asking() const { return answer_.valid(); }

  // A descriptor that becomes readable with the answer. The answer is empty if the space is
  // exhausted; an exception of the strategy is rethrown here.
  int fd() const { return bell_.fd(); }
  std::optional<std::vector<std::size_t>> answer();

  // These block until the strategy is done.
  std::vector<std::size_t> ask(std::size_t count);
  std::optional<double> expected_gain(std::size_t tries);
  std::optional<Outlook> outlook();
  std::optional<double> gain_under_way();

 private:
  void pass_on_results();

  std::unique_ptr<Strategy> strategy_;  // used by the other thread during an ask
  std::vector<std::pair<std::size_t, std::optional<double>>> told_;
  std::vector<std::size_t> spared_;
  Bell bell_;  // of the answer
  std::future<std::vector<std::size_t>> answer_;
};

}  // namespace gemm_tune
