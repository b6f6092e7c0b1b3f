// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel.h"

#include <utility>

#include "gpu/device.h"

namespace gemm_tune {
namespace {

// The runtime takes a cudaKernel_t wherever it takes a function's address.
const void* as_function(cudaKernel_t kernel) { return static_cast<const void*>(kernel); }

void allow_all_dynamic_smem(cudaKernel_t kernel) {
  cudaFuncAttributes attributes{};
  GT_CUDA(cudaFuncGetAttributes(&attributes, as_function(kernel)));
  int grant = 0;
  GT_CUDA(
      cudaDeviceGetAttribute(&grant, cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device()));
  GT_CUDA(cudaFuncSetAttribute(as_function(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               grant - static_cast<int>(attributes.sharedSizeBytes)));
}

// cuLaunchKernel as cuda.h declares it; a cudaKernel_t may stand for the CUfunction.
using LaunchByDriver = int (*)(cudaKernel_t, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned smem_bytes, cudaStream_t, void** args, void** extra);

// Null where the driver does not tell.
LaunchByDriver launch_by_driver() {
  static const LaunchByDriver function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 12000,
                                                                cudaEnableDefault, &result);
    return status == cudaSuccess && result == cudaDriverEntryPointSuccess
               ? reinterpret_cast<LaunchByDriver>(found)
               : nullptr;
  }();
  return function;
}

}  // namespace

LoadedKernel::LoadedKernel(const std::string& cubin, const std::string& entry) {
  GT_CUDA(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  try {
    GT_CUDA(cudaLibraryGetKernel(&kernel_, library_, entry.c_str()));
    allow_all_dynamic_smem(kernel_);
  } catch (...) {
    cudaLibraryUnload(library_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  if (library_ != nullptr) cudaLibraryUnload(library_);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)),
      kernel_(std::exchange(other.kernel_, nullptr)) {}

LoadedKernel& LoadedKernel::operator=(LoadedKernel&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(kernel_, other.kernel_);
  return *this;
}

void LoadedKernel::launch(const Grid& grid, int block_threads, int smem_bytes, cudaStream_t stream,
                          void** args) const {
  const auto x = static_cast<unsigned>(grid.x), y = static_cast<unsigned>(grid.y),
             z = static_cast<unsigned>(grid.z), threads = static_cast<unsigned>(block_threads);
  // The driver's function costs the host less than the runtime's. It refuses a thread that has no
  // context yet: the runtime makes the device's current, and says why a launch is refused.
  const LaunchByDriver launch = launch_by_driver();
  if (launch != nullptr && launch(kernel_, x, y, z, threads, 1, 1,
                                  static_cast<unsigned>(smem_bytes), stream, args, nullptr) == 0) {
    return;
  }
  GT_CUDA(cudaLaunchKernel(as_function(kernel_), dim3(x, y, z), dim3(threads), args,
                           static_cast<std::size_t>(smem_bytes), stream));
}

int LoadedKernel::max_active_ctas(int block_threads, int smem_bytes) const {
  int ctas = 0;
  GT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, as_function(kernel_), block_threads,
                                                        static_cast<std::size_t>(smem_bytes)));
  return ctas;
}

}  // namespace gemm_tune
