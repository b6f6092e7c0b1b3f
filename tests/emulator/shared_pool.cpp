// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/shared_pool.h"

#include <sanitizer/asan_interface.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "kernel_templates/rules.h"
#include "tests/emulator/emulator.h"

namespace gemm_tune::emulator {
namespace {

// Two NaNs in either 16-bit type.
constexpr std::uint32_t kSignallingNan = 0x7fa07fa0;
// Wide, so that an index that is off by rows and not by elements does not land in the next array.
constexpr std::size_t kRedZoneBytes = 16 * 1024;
constexpr int kMaxArrays = 8;

}  // namespace

SharedPool::SharedPool(int granted_bytes)
    : granted_bytes_(granted_bytes),
      bytes_(static_cast<std::size_t>(granted_bytes) + (kMaxArrays + 1) * kRedZoneBytes),
      memory_(new (std::align_val_t{16}) char[bytes_]) {
  ASAN_POISON_MEMORY_REGION(memory_, bytes_);
}

SharedPool::~SharedPool() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  operator delete[](memory_, std::align_val_t{16});
}

void SharedPool::end_cta() {
  if (!arrays_.empty()) ASAN_POISON_MEMORY_REGION(memory_, bytes_);
  arrays_.clear();
  taken_bytes_ = 0;
}

const float* SharedPool::same_place(const SharedPool& other, const float* own) const {
  const std::ptrdiff_t offset = reinterpret_cast<const char*>(own) - other.memory_;
  if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(bytes_)) {
    throw ExecutionError("looks for a peer of what is not in its shared memory");
  }
  return reinterpret_cast<const float*>(memory_ + offset);
}

float* SharedPool::take(int index, int n) {
  if (n < 1) throw ExecutionError("takes an array of " + std::to_string(n) + " floats");
  if (index >= kMaxArrays) throw ExecutionError("takes more shared arrays than the emulator has");
  const auto i = static_cast<std::size_t>(index);
  if (i == arrays_.size()) add(n);
  if (arrays_[i].floats != n) {
    throw ExecutionError("takes " + std::to_string(n) + " floats as shared array " +
                         std::to_string(index) + " where another thread took " +
                         std::to_string(arrays_[i].floats));
  }
  return arrays_[i].data;
}

void SharedPool::add(int n) {
  const int start_bytes = taken_bytes_;
  taken_bytes_ += smem_floats(n) * static_cast<int>(sizeof(float));
  if (taken_bytes_ > granted_bytes_) {
    throw ExecutionError("takes " + std::to_string(taken_bytes_) +
                         " bytes of shared memory where the recipe grants " +
                         std::to_string(granted_bytes_));
  }
  char* const array =
      memory_ + static_cast<std::size_t>(start_bytes) + (arrays_.size() + 1) * kRedZoneBytes;
  const auto floats = static_cast<std::size_t>(n);
  ASAN_UNPOISON_MEMORY_REGION(array, floats * sizeof(float));
  for (std::size_t i = 0; i < floats; ++i) {
    std::memcpy(array + i * sizeof(float), &kSignallingNan, sizeof(float));
  }
  arrays_.push_back({reinterpret_cast<float*>(array), n});
}

}  // namespace gemm_tune::emulator
