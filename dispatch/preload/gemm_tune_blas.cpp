// SPDX-License-Identifier: Apache-2.0
// The names that the drop-in takes over from cuBLAS. Each serves the call or hands it on as it is.
//
// All but cublasLtMatmul are defined by the rows of core/problem/cublas_functions.h.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "core/problem/cublas_functions.h"
#include "dispatch/c_values.h"
#include "dispatch/preload/cublas/handle_devices.h"
#include "dispatch/preload/cublas/lt_call.h"
#include "dispatch/preload/cublas/real_cublas.h"
#include "dispatch/preload/driver.h"
#include "dispatch/preload/report/counts.h"
#include "dispatch/preload/report/report.h"
#include "dispatch/preload/server.h"

#define GT_INTERPOSED extern "C" __attribute__((visibility("default"))) int

namespace gemm_tune::preload {
namespace {

// Made at the first call and never destroyed: other threads may call while the process exits.
std::atomic<Server*> made_server = nullptr;

Server& server() {
  static Server* const only = [] {
    made_server = new Server(
        Settings::from([](const char* name) -> const char* { return std::getenv(name); }));
    // Registered later than CUDA's own, and so called before CUDA ends.
    std::atexit([] { made_server.load()->collect_times(); });
    return made_server.load();
  }();
  return *only;
}

[[gnu::destructor]] void write_report_at_exit() {
  try {
    if (const Server* const only = made_server) only->write_report();
  } catch (...) {  // of memory: the report is lost, the program's exit code is not
  }
}

// Whether the thread is in a call: what cuBLAS and gemm-tune call is theirs.
thread_local bool is_inside = false;

struct Inside {
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

constinit HandleDevices handle_devices;

std::optional<Declined> serve(const CublasCall& call, Handle handle,
                              GpuTimer::Span* span) noexcept {
  try {
    std::optional<HandleState> state = state_of(handle);
    if (state) state->device = handle_devices.device_of(handle);
    return server().serve(call, state, std::nullopt, span);
  } catch (...) {
    return Declined{};
  }
}

// Hands a call on that is not served.
template <class Forward>
int finish(const std::optional<Declined>& declined, const Forward& forward) {
  if (!declined) return kSuccess;
  const int status = forward();
  declined->count(status);
  return status;
}

template <class Forward>
int serve_or_forward(const CublasCall& call, Handle handle, const Forward& forward) {
  if (is_inside) return forward();
  const Inside inside;
  GpuTimer::Span span;
  return finish(serve(call, handle, &span), forward);
}

// The arrays of a call for groups of products, by which they differ.
template <class Int>
struct Groups {
  const Int* sizes;
  Int count;

  // Of an array's elements, one for each group; 0 without an array.
  template <class T>
  std::int64_t largest(const T* array) const {
    return array == nullptr || count < 1 ? 0 : *std::max_element(array, array + count);
  }
  std::int64_t products() const {
    return sizes == nullptr || count < 1 ? 0
                                         : std::accumulate(sizes, sizes + count, std::int64_t{0});
  }
  // One group is a batch of pointers.
  BatchKind kind() const { return count == 1 ? BatchKind::pointers : BatchKind::groups; }
};
template <class Int>
Groups(const Int*, Int) -> Groups<Int>;  // clang 14 deduces no aggregate

// handle: cublasLt's, or one of cuBLAS, which cublasLt takes, too.
std::optional<Declined> serve(Handle handle, const LtArguments& arguments, void* workspace,
                              std::size_t workspace_bytes, CUstream_st* stream,
                              GpuTimer::Span* span) noexcept {
  try {
    LtCall lt = lt_call(arguments);
    // cublasLt takes one of any alignment with some algorithms.
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment == 0;
    lt.call.workspace = workspace;
    lt.call.workspace_bytes =
        workspace != nullptr && is_aligned
            ? static_cast<std::int64_t>(std::min<std::size_t>(workspace_bytes, INT64_MAX))
            : 0;
    HandleState state;
    state.stream = stream;
    state.pointer_mode = lt.pointer_mode;
    state.device = handle_devices.device_of(handle);
    return server().serve(lt.call, handle == nullptr ? std::nullopt : std::optional(state),
                          lt.against, span);
  } catch (...) {
    return Declined{};
  }
}

// algorithm: what cublasLt's heuristic proposed for the workspace; it holds for cublasLt's kernels.
int lt_matmul(Handle handle, const LtArguments& a, const void* algorithm, void* workspace,
              std::size_t workspace_bytes, CUstream_st* stream) {
  static RealFunction<int(Handle, const void*, const void*, const void*, const void*, const void*,
                          const void*, const void*, const void*, const void*, void*, const void*,
                          const void*, void*, std::size_t, CUstream_st*)>
      real("cublasLtMatmul");
  const auto forward = [&] {
    return real(handle, a.descriptor, a.alpha, a.A, a.layout_a, a.B, a.layout_b, a.beta, a.C,
                a.layout_c, a.D, a.layout_d, algorithm, workspace, workspace_bytes, stream);
  };
  if (is_inside) return forward();
  const Inside inside;
  GpuTimer::Span span;
  return finish(serve(handle, a, workspace, workspace_bytes, stream, &span), forward);
}

}  // namespace
}  // namespace gemm_tune::preload

using namespace gemm_tune::preload;  // of the entry points, which have to be global

GT_INTERPOSED cublasCreate_v2(void** handle) {
  static RealFunction<int(void**)> real("cublasCreate_v2");
  const int status = real(handle);
  if (status != kSuccess) return status;
  if (const std::optional<int> device = current_device()) handle_devices.remember(*handle, *device);
  return status;
}

// How a row's parameters become members of a CublasCall.
#define GT_READ_SIZES(of)                                                         \
  call.op_a = static_cast<int>(of(op_a)), call.op_b = static_cast<int>(of(op_b)); \
  call.m = of(m), call.n = of(n), call.k = of(k);                                 \
  call.lda = of(lda), call.ldb = of(ldb), call.ldc = of(ldc)
#define GT_READ_SINGLE GT_READ_SIZES()
#define GT_READ_STRIDED                                                         \
  GT_READ_SIZES();                                                              \
  call.stride_a = stride_a, call.stride_b = stride_b, call.stride_c = stride_c; \
  call.batch = batch
#define GT_READ_POINTERS \
  GT_READ_SIZES();       \
  call.batch_kind = gemm_tune::BatchKind::pointers, call.batch = batch
#define GT_READ_GROUPS             \
  const Groups all{batch, groups}; \
  GT_READ_SIZES(all.largest);      \
  call.batch_kind = all.kind(), call.batch = all.products()
#define GT_READ_TYPES_F32  // CublasCall's default values
#define GT_READ_TYPES_NAMED call.type_a = type_a, call.type_b = type_b, call.type_c = type_c;
#define GT_READ_COMPUTING_F32
#define GT_READ_COMPUTING_NAMED call.compute_type = compute_type, call.algorithm = algorithm;
#define GT_READ_COMPUTING_NAMED_TYPE call.compute_type = compute_type;

#define GT_DEFINE(Int, name, symbol, Scalar, type, batch, computing)                           \
  GT_INTERPOSED symbol GT_CUBLAS_PARAMETERS(Int, Scalar, type, batch, computing) {             \
    static RealFunction<int GT_CUBLAS_PARAMETERS(Int, Scalar, type, batch, computing)> real(   \
        #symbol);                                                                              \
    CublasCall call;                                                                           \
    call.function = gemm_tune::CublasFunction::name;                                           \
    call.alpha = alpha, call.A = A, call.B = B, call.beta = beta;                              \
    call.C = const_cast<void*>(static_cast<const void*>(C));                                   \
    GT_READ_##batch;                                                                           \
    GT_READ_TYPES_##type GT_READ_COMPUTING_##computing;                                        \
    return serve_or_forward(call, handle,                                                      \
                            [&] { return real GT_CUBLAS_ARGUMENTS(type, batch, computing); }); \
  }
#define GT_DEFINE_BOTH(name, suffix, Scalar, type, batch, computing) \
  GT_DEFINE(int, name, name##suffix, Scalar, type, batch, computing) \
  GT_DEFINE(std::int64_t, name, name##suffix##_64, Scalar, type, batch, computing)
GT_CUBLAS_PLAIN_FUNCTIONS(GT_DEFINE_BOTH)
GT_CUBLAS_GROUPED_FUNCTIONS(GT_DEFINE_BOTH)

GT_INTERPOSED cublasLtMatmul(void* handle, const void* descriptor, const void* alpha, const void* A,
                             const void* layout_a, const void* B, const void* layout_b,
                             const void* beta, const void* C, const void* layout_c, void* D,
                             const void* layout_d, const void* algorithm, void* workspace,
                             std::size_t workspace_bytes, CUstream_st* stream) {
  return lt_matmul(handle,
                   {descriptor, alpha, A, layout_a, B, layout_b, beta, C, layout_c, D, layout_d},
                   algorithm, workspace, workspace_bytes, stream);
}

// For gemm-tune: adds the report of a process that ended without one to the file. counts: what it
// left in GEMM_TUNE_BLAS_COUNTS. 0 where that can be read, 2 where another version has written it.
GT_INTERPOSED gemm_tune_blas_report_of(const char* counts, const char* report) {
  try {
    const std::optional<std::string> text = report_of(counts);
    if (!text) return 2;
    append_to(report, *text);
    return text->empty() ? 1 : 0;
  } catch (...) {  // of memory
    return 1;
  }
}
