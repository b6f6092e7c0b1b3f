// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 as the loader of a bundle sees it, without a GPU: memory is the host's, and a launch
// multiplies by its GemmArgs. The device is of architecture GT_FAKE_SM. Says on standard error what
// a caller did wrong or left behind.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernel_templates/device/call/gemm_args.cuh"

namespace {

struct Account {
  int buffers = 0, modules = 0;
  ~Account() {
    if (buffers != 0) std::fprintf(stderr, "%d buffers were not freed\n", buffers);
    if (modules != 0) std::fprintf(stderr, "%d modules were not unloaded\n", modules);
  }
} account;

struct Module {
  int dynamic_smem = 0;
};

void* current = nullptr;

int wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

void* host(std::uint64_t memory) { return reinterpret_cast<void*>(memory); }

void multiply(const gemm_tune::GemmArgs& args) {
  for (long long row = 0; row < args.M; ++row) {
    for (long long column = 0; column < args.N; ++column) {
      float sum = 0;
      for (long long k = 0; k < args.K; ++k) {
        sum += args.A[row * args.lda + k] * args.B[k * args.ldb + column];
      }
      float& c = args.D[row * args.ldc + column];
      c = args.alpha * sum + args.beta * c;
    }
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }

int cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}

int cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &account;
  return 0;
}

int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* const sm = std::getenv("GT_FAKE_SM");
  const int number = sm == nullptr ? 86 : std::atoi(sm);
  *value = attribute == 16   ? 132
           : attribute == 75 ? number / 10
           : attribute == 76 ? number % 10
                             : 0;
  return 0;
}

int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes) {
  ++account.buffers;
  void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(made, 0xFF, bytes);
  *memory = reinterpret_cast<std::uint64_t>(made);
  return 0;
}

int cuMemFree_v2(std::uint64_t memory) {
  if (memory != 0) --account.buffers;
  std::free(host(memory));
  return 0;
}

int cuMemsetD8Async(std::uint64_t memory, unsigned char value, std::size_t bytes, void*) {
  std::memset(host(memory), value, bytes);
  return 0;
}

int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(host(to), from, bytes);
  return 0;
}

int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, host(from), bytes);
  return 0;
}

int cuStreamSynchronize(void*) { return 0; }

int cuModuleLoadData(void** module, const void* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return wrong("a module that is no cubin");
  ++account.modules;
  *module = new Module;
  return 0;
}

int cuModuleUnload(void* module) {
  if (module != nullptr) --account.modules;
  delete static_cast<Module*>(module);
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (std::strcmp(name, "gemm") != 0) return wrong("a function that is not gemm");
  *function = module;
  return 0;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute == 8) static_cast<Module*>(function)->dynamic_smem = value;
  return 0;
}

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                   unsigned, unsigned smem_bytes, void*, void** parameters, void**) {
  const int allowed = static_cast<Module*>(function)->dynamic_smem;
  if (allowed < static_cast<int>(smem_bytes)) return wrong("more shared memory than is allowed");
  if (x == 0 || y == 0 || z == 0 || threads == 0) return wrong("an empty grid or block");
  const auto& args = *static_cast<const gemm_tune::GemmArgs*>(parameters[0]);
  if (args.counters != nullptr && *args.counters != 0) return wrong("counters that are not zero");
  multiply(args);
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "the fake driver's error";
  return 0;
}

}  // extern "C"
