// SPDX-License-Identifier: Apache-2.0
// Whether somebody wants long work to end early.
//
// The work asks between its steps and stores what is finished. Who sets the flag belongs to the
// program around it: signals in gemm-tune (cli/output/signals.h), a flag of its own elsewhere. A
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

  // The same, requested by a second flag as well. A third takes the place of the second.
  Interruption also(const std::atomic<bool>& flag) const {
    Interruption both = *this;
    both.second_ = &flag;
    return both;
  }

  bool requested() const { return is_set(flag_) || is_set(second_); }

 private:
  static bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

  const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* second_ = nullptr;
};

}  // namespace gemm_tune
