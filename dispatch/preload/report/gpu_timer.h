// SPDX-License-Identifier: Apache-2.0
// GPU time of a sample of the program's calls: events before and behind the call in its stream.
//
// Nothing waits: times are collected by later timed calls and at exit; what has not finished then
// is not counted. Where the GPU waits for the host to launch, this wait is part of the time. A call
// that is captured into a graph has no time. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "dispatch/preload/driver.h"
#include "dispatch/preload/report/shape_table.h"

namespace gemm_tune::preload {

class GpuTimer {
 public:
  // The time from begin() to the destructor. Without begin(): nothing.
  class Span {
   public:
    Span() = default;
    ~Span() {
      if (timer_ != nullptr) timer_->stop(pair_);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

    // What is enqueued in the stream is the call of this shape. Does nothing where all events are
    // in use or the time cannot be measured.
    void begin(GpuTimer& timer, CUstream_st* stream, Shape* shape);

   private:
    GpuTimer* timer_ = nullptr;
    std::size_t pair_ = 0;
  };

  // Whether to time a shape's call: the second to the ninth, then each 32nd. The first loads
  // kernels. Two events cost some 2 us of the host's time.
  static bool samples(std::uint64_t call) { return (call >= 1 && call <= 8) || call % 32 == 31; }

  // Adds the times of all calls that have finished, in the current context, to their shapes. Waits
  // for no other thread.
  void collect();

 private:
  static constexpr std::size_t kPairs = 128;

  enum class State { unmade, free, started, stopped };

  struct Pair {
    State state = State::unmade;
    unsigned long long context = 0;  // its number, which no later context has again
    CUevent_st *start = nullptr, *stop = nullptr;
    CUstream_st* stream = nullptr;
    Shape* shape = nullptr;
  };

  std::optional<std::size_t> start(CUstream_st* stream, Shape* shape);
  void stop(std::size_t pair);
  void collect_in(unsigned long long context, std::size_t most);
  std::optional<std::size_t> free_pair(unsigned long long context);
  static void collect(Pair& pair);
  static void unmake(Pair& pair);

  std::mutex mutex_;
  std::array<Pair, kPairs> pairs_;  // guarded by mutex_
  std::size_t next_ = 0;            // to be looked at; guarded by mutex_
};

}  // namespace gemm_tune::preload
