// SPDX-License-Identifier: Apache-2.0
// The names that the drop-in takes over from cuBLAS. Each serves the call or hands it on as it is.
//
// A template for each pair of a function and its variant for 64-bit integers: an instance has a
// real function of its own.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

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

template <class Signature, class... Arguments>
int serve_or_forward(RealFunction<Signature>& real, const CublasCall& call, Handle handle,
                     Arguments... arguments) {
  const auto forward = [&] { return real(handle, arguments...); };
  if (is_inside) return forward();
  const Inside inside;
  GpuTimer::Span span;
  return finish(serve(call, handle, &span), forward);
}

template <class Int>
int sgemm(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
          const float* alpha, const float* A, Int lda, const float* B, Int ldb, const float* beta,
          float* C, Int ldc) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const float*, const float*, Int,
                          const float*, Int, const float*, float*, Int)>
      real(name);
  CublasCall call{Function::sgemm, op_a, op_b, m, n, k, alpha};
  call.A = A;
  call.lda = lda;
  call.B = B;
  call.ldb = ldb;
  call.beta = beta;
  call.C = C;
  call.ldc = ldc;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C,
                          ldc);
}

template <class Int>
int sgemm_strided_batched(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
                          const float* alpha, const float* A, Int lda, long long stride_a,
                          const float* B, Int ldb, long long stride_b, const float* beta, float* C,
                          Int ldc, long long stride_c, Int batch) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const float*, const float*, Int,
                          long long, const float*, Int, long long, const float*, float*, Int,
                          long long, Int)>
      real(name);
  CublasCall call{Function::sgemm_strided_batched, op_a, op_b, m, n, k, alpha};
  call.A = A;
  call.lda = lda;
  call.stride_a = stride_a;
  call.B = B;
  call.ldb = ldb;
  call.stride_b = stride_b;
  call.beta = beta;
  call.C = C;
  call.ldc = ldc;
  call.stride_c = stride_c;
  call.batch = batch;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, lda, stride_a, B, ldb,
                          stride_b, beta, C, ldc, stride_c, batch);
}

template <class Int>
int sgemm_batched(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
                  const float* alpha, const float* const* A, Int lda, const float* const* B,
                  Int ldb, const float* beta, float* const* C, Int ldc, Int batch) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const float*, const float* const*, Int,
                          const float* const*, Int, const float*, float* const*, Int, Int)>
      real(name);
  CublasCall call{Function::sgemm_batched, op_a, op_b, m, n, k, alpha};
  call.A = A;
  call.lda = lda;
  call.B = B;
  call.ldb = ldb;
  call.beta = beta;
  call.C = const_cast<float**>(C);
  call.ldc = ldc;
  call.batch = batch;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C,
                          ldc, batch);
}

// The matrices of the functions whose types are arguments.
template <class Int>
CublasCall typed_call(Function function, int op_a, int op_b, Int m, Int n, Int k, const void* alpha,
                      const void* A, int type_a, Int lda, const void* B, int type_b, Int ldb,
                      const void* beta, void* C, int type_c, Int ldc) {
  CublasCall call{function, op_a, op_b, m, n, k, alpha, A, type_a, lda};
  call.B = B;
  call.type_b = type_b;
  call.ldb = ldb;
  call.beta = beta;
  call.C = C;
  call.type_c = type_c;
  call.ldc = ldc;
  return call;
}

template <class Int>
int sgemm_ex(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
             const float* alpha, const void* A, int type_a, Int lda, const void* B, int type_b,
             Int ldb, const float* beta, void* C, int type_c, Int ldc) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const float*, const void*, int, Int,
                          const void*, int, Int, const float*, void*, int, Int)>
      real(name);
  const CublasCall call = typed_call(Function::sgemm_ex, op_a, op_b, m, n, k, alpha, A, type_a, lda,
                                     B, type_b, ldb, beta, C, type_c, ldc);
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b,
                          ldb, beta, C, type_c, ldc);
}

template <class Int>
int gemm_ex(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
            const void* alpha, const void* A, int type_a, Int lda, const void* B, int type_b,
            Int ldb, const void* beta, void* C, int type_c, Int ldc, int compute_type,
            int algorithm) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const void*, const void*, int, Int,
                          const void*, int, Int, const void*, void*, int, Int, int, int)>
      real(name);
  CublasCall call = typed_call(Function::gemm_ex, op_a, op_b, m, n, k, alpha, A, type_a, lda, B,
                               type_b, ldb, beta, C, type_c, ldc);
  call.compute_type = compute_type;
  call.algorithm = algorithm;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b,
                          ldb, beta, C, type_c, ldc, compute_type, algorithm);
}

template <class Int>
int gemm_strided_batched_ex(const char* name, Handle handle, int op_a, int op_b, Int m, Int n,
                            Int k, const void* alpha, const void* A, int type_a, Int lda,
                            long long stride_a, const void* B, int type_b, Int ldb,
                            long long stride_b, const void* beta, void* C, int type_c, Int ldc,
                            long long stride_c, Int batch, int compute_type, int algorithm) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const void*, const void*, int, Int,
                          long long, const void*, int, Int, long long, const void*, void*, int, Int,
                          long long, Int, int, int)>
      real(name);
  CublasCall call = typed_call(Function::gemm_strided_batched_ex, op_a, op_b, m, n, k, alpha, A,
                               type_a, lda, B, type_b, ldb, beta, C, type_c, ldc);
  call.stride_a = stride_a;
  call.stride_b = stride_b;
  call.stride_c = stride_c;
  call.batch = batch;
  call.compute_type = compute_type;
  call.algorithm = algorithm;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, stride_a,
                          B, type_b, ldb, stride_b, beta, C, type_c, ldc, stride_c, batch,
                          compute_type, algorithm);
}

template <class Int>
int gemm_batched_ex(const char* name, Handle handle, int op_a, int op_b, Int m, Int n, Int k,
                    const void* alpha, const void* const* A, int type_a, Int lda,
                    const void* const* B, int type_b, Int ldb, const void* beta, void* const* C,
                    int type_c, Int ldc, Int batch, int compute_type, int algorithm) {
  static RealFunction<int(Handle, int, int, Int, Int, Int, const void*, const void* const*, int,
                          Int, const void* const*, int, Int, const void*, void* const*, int, Int,
                          Int, int, int)>
      real(name);
  CublasCall call = typed_call(Function::gemm_batched_ex, op_a, op_b, m, n, k, alpha, A, type_a,
                               lda, B, type_b, ldb, beta, const_cast<void**>(C), type_c, ldc);
  call.batch = batch;
  call.compute_type = compute_type;
  call.algorithm = algorithm;
  return serve_or_forward(real, call, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b,
                          ldb, beta, C, type_c, ldc, batch, compute_type, algorithm);
}

// handle: cublasLt's, or one of cuBLAS, which cublasLt takes, too.
std::optional<Declined> serve(Handle handle, const LtArguments& arguments, CUstream_st* stream,
                              GpuTimer::Span* span) noexcept {
  try {
    const LtCall lt = lt_call(arguments);
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
  return finish(serve(handle, a, stream, &span), forward);
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

GT_INTERPOSED cublasSgemm_v2(void* handle, int op_a, int op_b, int m, int n, int k,
                             const float* alpha, const float* A, int lda, const float* B, int ldb,
                             const float* beta, float* C, int ldc) {
  return sgemm<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

GT_INTERPOSED cublasSgemm_v2_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                                std::int64_t k, const float* alpha, const float* A,
                                std::int64_t lda, const float* B, std::int64_t ldb,
                                const float* beta, float* C, std::int64_t ldc) {
  return sgemm<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C,
                             ldc);
}

GT_INTERPOSED cublasSgemmStridedBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                                        const float* alpha, const float* A, int lda,
                                        long long stride_a, const float* B, int ldb,
                                        long long stride_b, const float* beta, float* C, int ldc,
                                        long long stride_c, int batch) {
  return sgemm_strided_batched<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda, stride_a,
                                    B, ldb, stride_b, beta, C, ldc, stride_c, batch);
}

GT_INTERPOSED cublasSgemmStridedBatched_64(void* handle, int op_a, int op_b, std::int64_t m,
                                           std::int64_t n, std::int64_t k, const float* alpha,
                                           const float* A, std::int64_t lda, long long stride_a,
                                           const float* B, std::int64_t ldb, long long stride_b,
                                           const float* beta, float* C, std::int64_t ldc,
                                           long long stride_c, std::int64_t batch) {
  return sgemm_strided_batched<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda,
                                             stride_a, B, ldb, stride_b, beta, C, ldc, stride_c,
                                             batch);
}

GT_INTERPOSED cublasSgemmBatched(void* handle, int op_a, int op_b, int m, int n, int k,
                                 const float* alpha, const float* const* A, int lda,
                                 const float* const* B, int ldb, const float* beta, float* const* C,
                                 int ldc, int batch) {
  return sgemm_batched<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb, beta, C,
                            ldc, batch);
}

GT_INTERPOSED cublasSgemmBatched_64(void* handle, int op_a, int op_b, std::int64_t m,
                                    std::int64_t n, std::int64_t k, const float* alpha,
                                    const float* const* A, std::int64_t lda, const float* const* B,
                                    std::int64_t ldb, const float* beta, float* const* C,
                                    std::int64_t ldc, std::int64_t batch) {
  return sgemm_batched<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, lda, B, ldb,
                                     beta, C, ldc, batch);
}

GT_INTERPOSED cublasSgemmEx(void* handle, int op_a, int op_b, int m, int n, int k,
                            const float* alpha, const void* A, int type_a, int lda, const void* B,
                            int type_b, int ldb, const float* beta, void* C, int type_c, int ldc) {
  return sgemm_ex<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b, ldb,
                       beta, C, type_c, ldc);
}

GT_INTERPOSED cublasSgemmEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                               std::int64_t k, const float* alpha, const void* A, int type_a,
                               std::int64_t lda, const void* B, int type_b, std::int64_t ldb,
                               const float* beta, void* C, int type_c, std::int64_t ldc) {
  return sgemm_ex<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B,
                                type_b, ldb, beta, C, type_c, ldc);
}

GT_INTERPOSED cublasGemmEx(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                           const void* A, int type_a, int lda, const void* B, int type_b, int ldb,
                           const void* beta, void* C, int type_c, int ldc, int compute_type,
                           int algorithm) {
  return gemm_ex<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B, type_b, ldb,
                      beta, C, type_c, ldc, compute_type, algorithm);
}

GT_INTERPOSED cublasGemmEx_64(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n,
                              std::int64_t k, const void* alpha, const void* A, int type_a,
                              std::int64_t lda, const void* B, int type_b, std::int64_t ldb,
                              const void* beta, void* C, int type_c, std::int64_t ldc,
                              int compute_type, int algorithm) {
  return gemm_ex<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B,
                               type_b, ldb, beta, C, type_c, ldc, compute_type, algorithm);
}

GT_INTERPOSED cublasGemmStridedBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k,
                                         const void* alpha, const void* A, int type_a, int lda,
                                         long long stride_a, const void* B, int type_b, int ldb,
                                         long long stride_b, const void* beta, void* C, int type_c,
                                         int ldc, long long stride_c, int batch, int compute_type,
                                         int algorithm) {
  return gemm_strided_batched_ex<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda,
                                      stride_a, B, type_b, ldb, stride_b, beta, C, type_c, ldc,
                                      stride_c, batch, compute_type, algorithm);
}

GT_INTERPOSED cublasGemmStridedBatchedEx_64(void* handle, int op_a, int op_b, std::int64_t m,
                                            std::int64_t n, std::int64_t k, const void* alpha,
                                            const void* A, int type_a, std::int64_t lda,
                                            long long stride_a, const void* B, int type_b,
                                            std::int64_t ldb, long long stride_b, const void* beta,
                                            void* C, int type_c, std::int64_t ldc,
                                            long long stride_c, std::int64_t batch,
                                            int compute_type, int algorithm) {
  return gemm_strided_batched_ex<std::int64_t>(
      __func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, stride_a, B, type_b, ldb,
      stride_b, beta, C, type_c, ldc, stride_c, batch, compute_type, algorithm);
}

GT_INTERPOSED cublasGemmBatchedEx(void* handle, int op_a, int op_b, int m, int n, int k,
                                  const void* alpha, const void* const* A, int type_a, int lda,
                                  const void* const* B, int type_b, int ldb, const void* beta,
                                  void* const* C, int type_c, int ldc, int batch, int compute_type,
                                  int algorithm) {
  return gemm_batched_ex<int>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, B,
                              type_b, ldb, beta, C, type_c, ldc, batch, compute_type, algorithm);
}

GT_INTERPOSED cublasGemmBatchedEx_64(void* handle, int op_a, int op_b, std::int64_t m,
                                     std::int64_t n, std::int64_t k, const void* alpha,
                                     const void* const* A, int type_a, std::int64_t lda,
                                     const void* const* B, int type_b, std::int64_t ldb,
                                     const void* beta, void* const* C, int type_c, std::int64_t ldc,
                                     std::int64_t batch, int compute_type, int algorithm) {
  return gemm_batched_ex<std::int64_t>(__func__, handle, op_a, op_b, m, n, k, alpha, A, type_a, lda,
                                       B, type_b, ldb, beta, C, type_c, ldc, batch, compute_type,
                                       algorithm);
}

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
// left in GEMM_TUNE_BLAS_COUNTS. 0 where that can be read.
GT_INTERPOSED gemm_tune_blas_report_of(const char* counts, const char* report) {
  try {
    const std::string text = report_of(counts);
    append_to(report, text);
    return text.empty() ? 1 : 0;
  } catch (...) {  // of memory
    return 1;
  }
}
