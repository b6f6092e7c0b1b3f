// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/barriers.h"

#include <algorithm>

#include "tests/emulator/device/emulator.h"
#include "tests/emulator/device/tensor_core.h"

namespace gemm_tune::emulator {

Mbarrier::Mbarrier(int count) : count_(count), pending_(count) {
  if (count < 1) throw ExecutionError("initialises a barrier for no thread");
}

void Mbarrier::arrive(int expected_bytes) {
  if (pending_ == 0) throw ExecutionError("arrives where all have arrived that count: " + text());
  bytes_ += expected_bytes;
  --pending_;
  end_phase();
}

void Mbarrier::deliver(int bytes) {
  bytes_ -= bytes;
  end_phase();
}

void Mbarrier::end_phase() {
  if (pending_ > 0) return;
  if (bytes_ < 0) throw ExecutionError("brings more bytes than are expected: " + text());
  if (bytes_ > 0) return;
  pending_ = count_;
  ++phase_;
}

std::string Mbarrier::text() const {
  return "phase " + std::to_string(phase_) + " lacks " + std::to_string(pending_) + " of " +
         std::to_string(count_) + " arrivals and " + std::to_string(bytes_) + " bytes";
}

int NamedBarrier::come(int thread, int threads) {
  if (threads < 1 || threads % kWarp != 0) {
    throw ExecutionError("comes to a barrier of " + std::to_string(threads) +
                         " threads, which are no whole warps");
  }
  if (came_.empty()) threads_ = threads;
  if (threads != threads_) {
    throw ExecutionError("comes as one of " + std::to_string(threads) +
                         " threads to a barrier of " + std::to_string(threads_));
  }
  if (std::find(came_.begin(), came_.end(), thread) != came_.end()) {
    throw ExecutionError("comes again to a barrier before the others have come: " + text());
  }
  came_.push_back(thread);
  const int meeting = meetings_;
  if (static_cast<int>(came_.size()) == threads_) {
    came_.clear();
    ++meetings_;
  }
  return meeting;
}

std::string NamedBarrier::text() const {
  return std::to_string(came_.size()) + " of " + std::to_string(threads_) + " threads have come";
}

}  // namespace gemm_tune::emulator
