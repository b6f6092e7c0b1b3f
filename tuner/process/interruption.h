// SPDX-License-Identifier: Apache-2.0
// Whether somebody wants long work to end early.
//
// The work asks between its steps and stores what is finished. Who sets the flag belongs to the
// program around it: signals in gemm-tune (cli/output/signals.h), a flag of its own elsewhere. A
// wait in poll() ends early where a signal sets the flag, and within a second otherwise. A value
// that is passed on; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

namespace gemm_tune {

class Interruption {
 public:
  // Nobody ever asks for it.
  Interruption() = default;

  // Requested once the flag is true, which must outlive this object and its copies.
  explicit Interruption(const std::atomic<bool>& flag) : flags_{&flag} {}

  // The same, requested by another flag as well. Of more than three the third is replaced.
  Interruption also(const std::atomic<bool>& flag) const {
    Interruption all = *this;
    const auto free = std::find(all.flags_.begin(), all.flags_.end() - 1, nullptr);
    *free = &flag;
    return all;
  }

  bool requested() const { return std::any_of(flags_.begin(), flags_.end(), is_set); }

 private:
  static bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

  std::array<const std::atomic<bool>*, 3> flags_ = {};
};

}  // namespace gemm_tune
