// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/cublas/handle_devices.h"

#include "core/text/hash_words.h"

namespace gemm_tune::preload {
namespace {

constexpr int kDeviceBits = 16;
constexpr std::uint64_t kDeviceMask = (1U << kDeviceBits) - 1;

std::uint64_t word_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

void HandleDevices::remember(const void* handle, int device) {
  const std::uint64_t address = word_of(handle), number = static_cast<std::uint64_t>(device) + 1;
  if (address >> (64 - kDeviceBits) != 0 || device < 0 || number > kDeviceMask) return;
  const std::uint64_t entry = address << kDeviceBits | number;
  const std::size_t start = hash_words({&address, 1});
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<std::uint64_t>& slot = slots_[(start + probe) % kSlots];
    std::uint64_t there = slot.load();
    const bool is_its_own = there == 0 || there >> kDeviceBits == address;
    if (is_its_own && slot.compare_exchange_strong(there, entry)) return;
  }
  slots_[start % kSlots].store(entry);
}

std::optional<int> HandleDevices::device_of(const void* handle) const {
  const std::uint64_t address = word_of(handle);
  const std::size_t start = hash_words({&address, 1});
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t there = slots_[(start + probe) % kSlots].load(std::memory_order_relaxed);
    if (there == 0) break;
    if (there >> kDeviceBits == address) return static_cast<int>(there & kDeviceMask) - 1;
  }
  return std::nullopt;
}

}  // namespace gemm_tune::preload
