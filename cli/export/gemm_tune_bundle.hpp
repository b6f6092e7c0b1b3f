// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of an exported bundle through the CUDA driver alone.
//
//   #include "gemm_tune_sm_90.h"  // one for each architecture in the folder
//   #include "gemm_tune_bundle.hpp"
//   gemm_tune_bundle::Bundle bundle("FOLDER");  // for the device of the current CUDA context
//   if (bundle.arch() == "sm_90") {
//     using namespace gemm_tune_sm_90;
//     const Problem problem = aligned_by({M, N, K}, lda, ldb, ldc);
//     bundle.gemm(problem, {alpha, A, lda, B, ldb, beta, C, ldc}, stream);
//   }
//
// C = alpha * op(A) * op(B) + beta * C, row-major; the architecture's header says the rest and
// chooses the kernel. Its file is loaded, and its scratch memory allocated, at the first launch
// that needs it, which waits for the stream: make each call once before you capture it into a
// graph. Failures: std::invalid_argument for arguments, else std::runtime_error, with a sentence.
//
// A Bundle serves one context and, at a time, one thread and one stream. When it ends, none of its
// kernels may be running. C++17, Linux; link with -ldl before glibc 2.34.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel_templates/device/call/gemm_args.cuh"

struct CUstream_st;  // CUDA's: a cudaStream_t and a CUstream point to one

namespace gemm_tune_bundle {

// Device pointers; leading dimensions and, of a batch, distances between matrices in elements.
struct Operands {
  float alpha;
  const void* A;
  long long lda;
  const void* B;
  long long ldb;
  float beta;
  void* C;
  long long ldc;
  long long stride_a = 0, stride_b = 0, stride_c = 0;
};

class Bundle {
 public:
  explicit Bundle(std::string folder) : folder_(std::move(folder)) {
    void* context = nullptr;
    run("cuInit", 0U);
    run("cuCtxGetCurrent", &context);
    if (context == nullptr) {
      throw std::runtime_error("no CUDA context is current: call cudaSetDevice() first");
    }
    int device = 0, major = 0, minor = 0;
    run("cuCtxGetDevice", &device);
    run("cuDeviceGetAttribute", &sm_count_, /*multiprocessors*/ 16, device);
    run("cuDeviceGetAttribute", &major, /*compute capability*/ 75, device);
    run("cuDeviceGetAttribute", &minor, 76, device);
    arch_ = "sm_" + std::to_string(10 * major + minor);
  }

  ~Bundle() {
    for (const auto& entry : kernels_) try_to("cuModuleUnload", entry.second.first);
    try_to("cuMemFree_v2", workspace_);
  }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  const std::string& arch() const { return arch_; }  // of the device, as in "sm_90"
  int sm_count() const { return sm_count_; }

  // Enqueues the product. Problem: of the device's architecture's header.
  template <class Problem>
  void gemm(const Problem& p, const Operands& o, CUstream_st* stream) {
    static_assert(export_format(Problem{}) == 1, "the header is of a later gemm-tune");
    const auto found = lookup(p);  // the header's, by the namespace of the argument
    if (found.kernel == nullptr) throw std::invalid_argument("no kernel serves the problem");
    check(p, o);
    const auto& kernel = *found.kernel;
    const auto grid = kernel.grid(p, sm_count_);
    void* const function = function_of(kernel.config, kernel.kernel_revision, kernel.smem_bytes);
    const auto* const A = static_cast<const float*>(o.A);
    const auto* const B = static_cast<const float*>(o.B);
    auto* const C = static_cast<float*>(o.C);
    const auto edge = [](long long value) { return static_cast<int>(value); };
    gemm_tune::GemmArgs args{edge(p.M),  edge(p.N),  edge(p.K),  edge(grid.piece_k),
                             o.alpha,    o.beta,     A,          B,
                             C,          o.lda,      o.ldb,      o.ldc,
                             o.stride_a, o.stride_b, o.stride_c, nullptr,
                             nullptr,    C,          {}};
    if (const long long bytes = kernel.workspace_bytes(p, sm_count_)) {
      constexpr long long kCounterBytes = std::decay_t<decltype(kernel)>::workspace_counter_bytes();
      grow_workspace(bytes, kCounterBytes, stream);
      args.counters = reinterpret_cast<int*>(workspace_);
      args.partials = reinterpret_cast<float*>(workspace_ + kCounterBytes);
    }
    void* parameters[] = {&args};
    const auto number = [](long long value) { return static_cast<unsigned>(value); };
    run("cuLaunchKernel", function, number(grid.x), number(grid.y), number(grid.z),
        number(kernel.block_threads), 1U, 1U, number(kernel.smem_bytes), stream, &parameters[0],
        static_cast<void**>(nullptr));
  }

 private:
  // Calls a function of the driver, whose arguments have these very types; its result, or -1 where
  // there is no such function.
  template <class... Args>
  static int try_to(const char* name, Args... args) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* const function = driver == nullptr ? nullptr : dlsym(driver, name);
    return function == nullptr ? -1 : reinterpret_cast<int (*)(Args...)>(function)(args...);
  }

  template <class... Args>
  static void run(const char* name, Args... args) {
    const int code = try_to(name, args...);
    if (code == 0) return;
    const char* text = code == -1 ? "install the NVIDIA driver 580 or newer" : "unknown error";
    if (code != -1) try_to("cuGetErrorString", code, &text);
    throw std::runtime_error(std::string(name) + " failed: " + text);
  }

  template <class Problem>
  static void check(const Problem& p, const Operands& o) {
    using Layout = decltype(p.layout);
    const bool is_transposed_a = p.layout == Layout::tn || p.layout == Layout::tt;
    const bool is_transposed_b = p.layout == Layout::nt || p.layout == Layout::tt;
    const auto check_one = [&](const char* name, const void* matrix, auto type, long long ld,
                               long long row, long long stride, int own) {
      const int bytes = type == decltype(type)::f32 ? 4 : 2;
      const int aligned = std::min(own > 0 ? own : p.alignment, 16 / bytes);
      const auto address = reinterpret_cast<std::uintptr_t>(matrix);
      if (ld < row) throw std::invalid_argument(std::string("ld of ") + name + " is below a row");
      if (address % static_cast<unsigned>(aligned * bytes) != 0 || ld % aligned != 0 ||
          (p.batch > 1 && stride % aligned != 0)) {
        throw std::invalid_argument(std::string(name) + " is not aligned as the problem says");
      }
    };
    check_one("A", o.A, p.type_a, o.lda, is_transposed_a ? p.M : p.K, o.stride_a, p.alignment_a);
    check_one("B", o.B, p.type_b, o.ldb, is_transposed_b ? p.K : p.N, o.stride_b, p.alignment_b);
    check_one("C", o.C, p.type_cd, o.ldc, p.N, o.stride_c, p.alignment_cd);
  }

  void* function_of(const std::string& config, const std::string& revision, int smem_bytes) {
    auto& [module, known] = kernels_[config];
    if (known != nullptr) return known;
    std::string name = revision + "-" + config + ".cubin";
    std::replace(name.begin(), name.end(), '/', '-');
    const std::string path = folder_ + "/" + arch_ + "/" + name;
    std::ifstream file(path, std::ios::binary);
    const std::string cubin{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (cubin.empty()) throw std::runtime_error("the bundle lacks '" + path + "'");
    // The driver would read beyond a cubin that is cut short. The last 8 bytes are the others'
    // hash.
    std::uint64_t hash = 0xcbf29ce484222325U, stored = 0;
    const std::size_t size = cubin.size() - std::min(cubin.size(), sizeof stored);
    for (std::size_t i = 0; i < size; ++i) {
      hash = (hash ^ static_cast<unsigned char>(cubin[i])) * 0x100000001b3U;
    }
    std::memcpy(&stored, cubin.data() + size, cubin.size() - size);
    if (stored != hash) {
      throw std::runtime_error("'" + path + "' is damaged: export the bundle again");
    }
    void* function = nullptr;
    if (module == nullptr) run("cuModuleLoadData", &module, cubin.data());
    run("cuModuleGetFunction", &function, module, "gemm");
    run("cuFuncSetAttribute", function, /*most dynamic shared memory*/ 8, smem_bytes);
    return known = function;
  }

  // Every launch leaves the counters, with which the workspace begins, zero.
  void grow_workspace(long long bytes, long long counter_bytes, CUstream_st* stream) {
    if (bytes <= workspace_bytes_) return;
    run("cuStreamSynchronize", stream);
    try_to("cuMemFree_v2", std::exchange(workspace_, 0));
    workspace_bytes_ = 0;
    run("cuMemAlloc_v2", &workspace_, static_cast<std::size_t>(bytes));
    run("cuMemsetD8Async", workspace_, static_cast<unsigned char>(0),
        static_cast<std::size_t>(counter_bytes), stream);
    workspace_bytes_ = bytes;
  }

  std::string folder_, arch_;
  int sm_count_ = 0;
  std::map<std::string, std::pair<void*, void*>> kernels_;  // module and function, by config
  std::uint64_t workspace_ = 0;                             // a CUdeviceptr
  long long workspace_bytes_ = 0;
};

}  // namespace gemm_tune_bundle
