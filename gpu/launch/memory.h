// SPDX-License-Identifier: Apache-2.0
// Device memory by plain cudaMalloc, freed with its owner. Never managed memory.
//
// Copies are synchronous and whole-range checked; they are for operands and results around a
// measurement, not inside one. A buffer belongs to the device that was current when it was made.
// Use one object from one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "gpu/error.h"

namespace gemm_tune {

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceBuffer() = default;

  // count elements, not initialised; 0 allocates nothing. Throws CudaError when memory runs out.
  explicit DeviceBuffer(std::size_t count) : size_(count) {
    void* memory = nullptr;
    if (count > 0) GT_CUDA(cudaMalloc(&memory, count * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) cudaFree(data_);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }

  // Copies the source to elements [offset, offset + source.size()); they are there when it returns,
  // for every stream.
  void copy_from_host(std::span<const T> source, std::size_t offset = 0) {
    check_range(offset, source.size());
    if (source.empty()) return;
    GT_CUDA(cudaMemcpy(data_ + offset, source.data(), source.size_bytes(), cudaMemcpyHostToDevice));
    // cudaMemcpy returns once pageable memory has been staged: its transfer may still be under way
    // when a stream that does not wait for the default one begins to read (CUDA Runtime API, "API
    // synchronization behavior").
    GT_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  }

  // Copies elements [offset, offset + target.size()) to the target.
  void copy_to_host(std::span<T> target, std::size_t offset = 0) const {
    check_range(offset, target.size());
    if (target.empty()) return;
    GT_CUDA(cudaMemcpy(target.data(), data_ + offset, target.size_bytes(), cudaMemcpyDeviceToHost));
  }

  // Sets every byte, in the stream's order; 0xFF makes floats NaN.
  void fill_bytes(int byte, cudaStream_t stream = nullptr) {
    if (size_ > 0) GT_CUDA(cudaMemsetAsync(data_, byte, size_bytes(), stream));
  }

 private:
  void check_range(std::size_t offset, std::size_t count) const {
    if (offset > size_ || count > size_ - offset) {
      throw Error("a copy of " + std::to_string(count) + " elements at " + std::to_string(offset) +
                  " leaves a device buffer of " + std::to_string(size_));
    }
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gemm_tune
