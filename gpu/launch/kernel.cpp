// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch/kernel.h"

#include <atomic>
#include <map>
#include <mutex>
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
// Attributes are the runtime's, bit for bit.
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_bytes;
  cudaStream_t stream;
  const cudaLaunchAttribute* attributes;
  unsigned attribute_count;
};
using LaunchFunctionEx = int(const LaunchConfig*, CUfunc_st*, void** args, void** extra);
using FunctionOfKernel = int(CUfunc_st**, cudaKernel_t);
using IdOfContext = int(void* context, unsigned long long* id);  // a null context: the current one

// The driver's functions.
struct Driver {
  LaunchFunction* launch;
  LaunchFunctionEx* launch_ex;
  FunctionOfKernel* function_of_kernel;
  IdOfContext* id_of_context;
};

// Null where the driver does not tell all of them.
const Driver* driver() {
  static const Driver found = {driver_function<LaunchFunction>("cuLaunchKernel", 12000),
                               driver_function<LaunchFunctionEx>("cuLaunchKernelEx", 12000),
                               driver_function<FunctionOfKernel>("cuKernelGetFunction", 12000),
                               driver_function<IdOfContext>("cuCtxGetId", 12000)};
  const bool has_all = found.launch != nullptr && found.launch_ex != nullptr &&
                       found.function_of_kernel != nullptr && found.id_of_context != nullptr;
  return has_all ? &found : nullptr;
}

}  // namespace

// The kernel as a function of each context that has launched it. Asking the driver for the function
// at each launch would make a launch 2 % longer. The id of a context is never used again, unlike
// its handle.
class LoadedKernel::Functions {
 public:
  // Of the current context; null where the driver does not tell.
  CUfunc_st* of(cudaKernel_t kernel) {
    unsigned long long context = 0;
    if (driver_ == nullptr || driver_->id_of_context(nullptr, &context) != 0) return nullptr;
    const OfContext* const latest = latest_.load(std::memory_order_acquire);
    if (latest != nullptr && latest->first == context) return latest->second;
    const std::lock_guard lock(mutex_);
    auto found = all_.find(context);
    if (found == all_.end()) {
      CUfunc_st* function = nullptr;
      if (driver_->function_of_kernel(&function, kernel) != 0) return nullptr;
      found = all_.emplace(context, function).first;
    }
    latest_.store(&*found, std::memory_order_release);
    return found->second;
  }

  const Driver* driver() const { return driver_; }

 private:
  using OfContext = std::pair<const unsigned long long, CUfunc_st*>;

  const Driver* const driver_ = gemm_tune::driver();
  std::atomic<const OfContext*> latest_ = nullptr;  // of all_, whose entries stay where they are
  std::mutex mutex_;
  std::map<unsigned long long, CUfunc_st*> all_;  // guarded by mutex_
};

LoadedLibrary::LoadedLibrary(const std::string& cubin) {
  GT_CUDA(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
}

LoadedLibrary::~LoadedLibrary() { cudaLibraryUnload(library_); }

LoadedKernel::LoadedKernel(std::shared_ptr<LoadedLibrary> library, const std::string& entry)
    : library_(std::move(library)), functions_(std::make_unique<Functions>()) {
  GT_CUDA(cudaLibraryGetKernel(&kernel_, library_->get(), entry.c_str()));
  allow_all_dynamic_smem(kernel_);
}

LoadedKernel::~LoadedKernel() = default;
LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept = default;
LoadedKernel& LoadedKernel::operator=(LoadedKernel&& other) noexcept = default;

void LoadedKernel::launch(const Grid& grid, int block_threads, int smem_bytes, cudaStream_t stream,
                          void** args, Begin begin) const {
  const auto x = static_cast<unsigned>(grid.x), y = static_cast<unsigned>(grid.y),
             z = static_cast<unsigned>(grid.z), threads = static_cast<unsigned>(block_threads);
  // The driver's function costs the host less than the runtime's. It would take the context of a
  // kernel from the stream, whichever that is; that of a function is the current one, and a stream
  // of another is refused. What it refuses, such as a thread without a context, the runtime judges.
  CUfunc_st* const function = functions_->of(kernel_);
  const auto smem = static_cast<unsigned>(smem_bytes);
  if (function != nullptr && begin == Begin::early) {
    cudaLaunchAttribute overlaps = {};
    overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlaps.val.programmaticStreamSerializationAllowed = 1;
    const LaunchConfig config = {x, y, z, threads, 1, 1, smem, stream, &overlaps, 1};
    if (functions_->driver()->launch_ex(&config, function, args, nullptr) == 0) return;
  }
  if (function != nullptr && functions_->driver()->launch(function, x, y, z, threads, 1, 1, smem,
                                                          stream, args, nullptr) == 0) {
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
