// SPDX-License-Identifier: Apache-2.0
// A compiled kernel, loaded from its cubin and ready to launch.
//
// Goes through the runtime's library interface (cudaLibrary*), so that nothing links libcuda. The
// kernel belongs to the device that was current when it was loaded. Const calls may come from
// several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/launch/launch_recipe.h"
#include "gpu/error.h"

namespace gemm_tune {

// A cubin that is loaded.
class LoadedLibrary {
 public:
  // Throws CudaError if the cubin does not fit the device.
  explicit LoadedLibrary(const std::string& cubin);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  cudaLibrary_t get() const { return library_; }

 private:
  cudaLibrary_t library_ = nullptr;
};

class LoadedKernel {
 public:
  // Loads the entry function and allows it all dynamic shared memory that the device grants one
  // CTA. Throws CudaError if the cubin does not fit the device or has no such entry.
  explicit LoadedKernel(const std::string& cubin, const std::string& entry = "gemm")
      : LoadedKernel(std::make_shared<LoadedLibrary>(cubin), entry) {}
  LoadedKernel(std::shared_ptr<LoadedLibrary> library, const std::string& entry);
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&& other) noexcept;

  // Enqueues the kernel with one-dimensional blocks and returns. args: a pointer to each parameter.
  // Throws CudaError if the launch is refused; a fault of the kernel shows at the next
  // synchronisation. With Begin::early the kernel may begin before the launch before it has ended,
  // and waits itself (griddepcontrol, sm_90); where the driver cannot do that it begins after it.
  enum class Begin { after_earlier_work, early };
  void launch(const Grid& grid, int block_threads, int smem_bytes, cudaStream_t stream, void** args,
              Begin begin = Begin::after_earlier_work) const;

  // For launches of the caller's own; lives as long as this object.
  cudaKernel_t get() const { return kernel_; }

  // Resident CTAs per SM, as the runtime computes them; 0 if not even one fits.
  int max_active_ctas(int block_threads, int smem_bytes) const;

 private:
  class Functions;

  std::shared_ptr<LoadedLibrary> library_;
  cudaKernel_t kernel_ = nullptr;
  std::unique_ptr<Functions> functions_;
};

}  // namespace gemm_tune
