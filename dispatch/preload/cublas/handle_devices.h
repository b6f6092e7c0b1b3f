// SPDX-License-Identifier: Apache-2.0
// The devices that cuBLAS's handles were created for, which cuBLAS has no getter for.
//
// Any number of threads; no lock, no allocation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace gemm_tune::preload {

class HandleDevices {
 public:
  constexpr HandleDevices() = default;

  // A handle that has the address of one that was destroyed takes its place.
  void remember(const void* handle, int device);

  // Nothing for a handle that is not known: another library created it, or so many are alive that
  // it was forgotten.
  std::optional<int> device_of(const void* handle) const;

 private:
  static constexpr std::size_t kSlots = 4096, kProbes = 8;

  // The address above 16 bits for the device's number and 1; 0 for none.
  std::array<std::atomic<std::uint64_t>, kSlots> slots_ = {};
};

}  // namespace gemm_tune::preload
