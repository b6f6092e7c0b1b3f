// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/shared_pool.h"

#include <sanitizer/asan_interface.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "kernel_templates/rules.h"
#include "tests/emulator/device/emulator.h"

namespace gemm_tune::emulator {
namespace {

// Two NaNs in either 16-bit type.
constexpr std::uint32_t kSignallingNan = 0x7fa07fa0;
// Wide, so that an index that is off by rows and not by elements does not land in the next array.
constexpr std::size_t kRedZoneBytes = 16 * 1024;
constexpr int kMaxArrays = 8;
constexpr std::align_val_t kAlignment{1024};  // the red zones' size is a multiple of it

}  // namespace

SharedPool::SharedPool(int granted_bytes)
    : granted_bytes_(granted_bytes),
      bytes_(static_cast<std::size_t>(granted_bytes) + (kMaxArrays + 1) * kRedZoneBytes),
      memory_(new (kAlignment) char[bytes_]) {
  ASAN_POISON_MEMORY_REGION(memory_, bytes_);
}

SharedPool::~SharedPool() {
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
  operator delete[](memory_, kAlignment);
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
  begin_array(
      memory_ + static_cast<std::size_t>(start_bytes) + (arrays_.size() + 1) * kRedZoneBytes, n);
}

void SharedPool::begin_array(char* array, int n) {
  const auto floats = static_cast<std::size_t>(n);
  ASAN_UNPOISON_MEMORY_REGION(array, floats * sizeof(float));
  for (std::size_t i = 0; i < floats; ++i) {
    std::memcpy(array + i * sizeof(float), &kSignallingNan, sizeof(float));
  }
  arrays_.push_back({reinterpret_cast<float*>(array), n});
}

char* SharedPool::take_all() {
  if (arrays_.empty()) {
    begin_array(memory_ + kRedZoneBytes, granted_bytes_ / static_cast<int>(sizeof(float)));
    taken_bytes_ = granted_bytes_;
  }
  return memory_ + kRedZoneBytes;
}

const char* SharedPool::begin() const { return memory_ + kRedZoneBytes; }

unsigned SharedPool::address_of(const void* p) const {
  const std::ptrdiff_t address = static_cast<const char*>(p) - (memory_ + kRedZoneBytes);
  if (address < 0 || address >= granted_bytes_) {
    throw ExecutionError("takes something for shared memory that is not in it");
  }
  return static_cast<unsigned>(address);
}

char* SharedPool::at(unsigned address, std::size_t bytes) const {
  if (!is_taken() || address + bytes > static_cast<std::size_t>(granted_bytes_)) {
    throw ExecutionError("reaches " + std::to_string(bytes) + " bytes at address " +
                         std::to_string(address) + " of shared memory, which has " +
                         std::to_string(is_taken() ? granted_bytes_ : 0));
  }
  return memory_ + kRedZoneBytes + address;
}

}  // namespace gemm_tune::emulator
