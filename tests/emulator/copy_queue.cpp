// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/copy_queue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/emulator/emulator.h"

namespace gemm_tune::emulator {
namespace {

// Unlike what fills shared memory at first, so that a copy under way is told from what was there.
constexpr std::uint32_t kUnderWay = 0x7fa0c0de;

void check_alignment(const void* address, int n, const char* what) {
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(n) * sizeof(float);
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    throw ExecutionError("copies " + std::to_string(bytes) + " bytes asynchronously " + what +
                         " an address that is not aligned to them");
  }
}

}  // namespace

void CopyQueue::issue(float* smem, const float* global, int n, int inside) {
  check_alignment(smem, n, "to");
  check_alignment(global, n, "from");
  Copy copy{smem, n, {}};
  std::copy_n(global, inside, copy.values);
  for (int i = 0; i < n; ++i) std::memcpy(smem + i, &kUnderWay, sizeof(float));
  open_.push_back(copy);
}

void CopyQueue::commit() {
  groups_.push_back(std::move(open_));
  open_.clear();
}

void CopyQueue::wait(int groups_left) {
  while (groups_.size() > static_cast<std::size_t>(groups_left)) {
    for (const Copy& copy : groups_.front()) {
      for (int i = 0; i < copy.n; ++i) {
        if (std::memcmp(copy.smem + i, &kUnderWay, sizeof(float)) != 0) {
          throw ExecutionError("waits for an asynchronous copy whose destination was written");
        }
      }
      std::copy_n(copy.values, copy.n, copy.smem);
    }
    groups_.pop_front();
  }
}

void CopyQueue::end() {
  if (!open_.empty()) throw ExecutionError("ends with asynchronous copies that it did not commit");
  for (const auto& group : groups_) {
    if (!group.empty()) throw ExecutionError("ends without waiting for its asynchronous copies");
  }
  groups_.clear();
}

}  // namespace gemm_tune::emulator
