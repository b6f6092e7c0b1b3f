// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel.h"

#include <utility>

#include "gpu/device.h"
#include "gpu/driver.h"

struct CUfunc_st;  // of cuda.h, to which a CUfunction points

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

// As cuda.h declares them; statuses are int, 0 for success.
using LaunchFunction = int(CUfunc_st*, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned smem_bytes, cudaStream_t, void** args, void** extra);
using FunctionOfKernel = int(CUfunc_st**, cudaKernel_t);

// The driver's functions, null where it does not tell.
LaunchFunction* launch_function() {
  static LaunchFunction* const found = driver_function<LaunchFunction>("cuLaunchKernel", 12000);
  return found;
}
FunctionOfKernel* function_of_kernel() {
  static FunctionOfKernel* const found =
      driver_function<FunctionOfKernel>("cuKernelGetFunction", 12000);
  return found;
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
  // The driver's function costs the host less than the runtime's. It would take the context of a
  // kernel from the stream, whichever that is; that of a function is the current one, and a stream
  // of another is refused. What it refuses, such as a thread without a context, the runtime judges.
  CUfunc_st* function = nullptr;
  if (launch_function() != nullptr && function_of_kernel() != nullptr &&
      function_of_kernel()(&function, kernel_) == 0 &&
      launch_function()(function, x, y, z, threads, 1, 1, static_cast<unsigned>(smem_bytes), stream,
                        args, nullptr) == 0) {
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
