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
  const dim3 ctas(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                  static_cast<unsigned>(grid.z));
  GT_CUDA(cudaLaunchKernel(as_function(kernel_), ctas, dim3(static_cast<unsigned>(block_threads)),
                           args, static_cast<std::size_t>(smem_bytes), stream));
}

int LoadedKernel::max_active_ctas(int block_threads, int smem_bytes) const {
  int ctas = 0;
  GT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, as_function(kernel_), block_threads,
                                                        static_cast<std::size_t>(smem_bytes)));
  return ctas;
}

}  // namespace gemm_tune
