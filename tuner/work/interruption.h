// SPDX-License-Identifier: Apache-2.0
// Whether somebody wants long work to end early.
//
// The work asks between its steps and stores what is finished. Who sets the flag belongs to the
// program around it: signals in gemm-tune (tuner/app/signals.h), a flag of its own elsewhere. A
// wait in poll() ends early where a signal sets the flag, and within a second otherwise. A value
// that is passed on; any thread.
#pragma once

#include <atomic>

namespace gemm_tune {

class Interruption {
 public:
  // Nobody ever asks for it.
  Interruption() = default;

  // Requested once the flag is true, which must outlive this object and its copies.
  explicit Interruption(const std::atomic<bool>& flag) : flag_(&flag) {}

  bool requested() const { return flag_ != nullptr && flag_->load(); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace gemm_tune
