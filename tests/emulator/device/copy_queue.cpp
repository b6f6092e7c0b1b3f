// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/copy_queue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/emulator/device/emulator.h"
#include "tests/emulator/device/under_way.h"

namespace gemm_tune::emulator {
namespace {

constexpr int kWord = sizeof(kUnderWay);

void check_alignment(const void* address, int bytes, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) != 0) {
    throw ExecutionError("copies " + std::to_string(bytes) + " bytes asynchronously " + what +
                         " an address that is not aligned to them");
  }
}

}  // namespace

void CopyQueue::issue(void* smem, const void* global, int bytes, int inside) {
  check_alignment(smem, bytes, "to");
  check_alignment(global, bytes, "from");
  if (inside < 0 || inside > bytes) {
    throw ExecutionError("copies " + std::to_string(inside) + " of " + std::to_string(bytes) +
                         " bytes asynchronously");
  }
  Copy copy{static_cast<char*>(smem), bytes, {}};
  std::copy_n(static_cast<const char*>(global), inside, copy.values);
  for (int i = 0; i < bytes; i += kWord) std::memcpy(copy.smem + i, &kUnderWay, kWord);
  open_.push_back(copy);
}

void CopyQueue::commit() {
  groups_.push_back(std::move(open_));
  open_.clear();
}

void CopyQueue::wait(int groups_left) {
  while (groups_.size() > static_cast<std::size_t>(groups_left)) {
    for (const Copy& copy : groups_.front()) {
      for (int i = 0; i < copy.bytes; i += kWord) {
        if (std::memcmp(copy.smem + i, &kUnderWay, kWord) != 0) {
          throw ExecutionError("waits for an asynchronous copy whose destination was written");
        }
      }
      std::copy_n(copy.values, copy.bytes, copy.smem);
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
