// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cublas.h"

#include <limits>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {
namespace {

// The part of cuBLAS 13's binary interface that this file uses, as cublas_v2.h and library_types.h
// declare it. Repeated here because those headers come with 400 MB of libraries that a build does
// not need.
namespace abi {

using Handle = struct Context*;
using Status = int;  // enumerations are int in C
constexpr Status kSuccess = 0, kInvalidValue = 7, kArchMismatch = 8, kNotSupported = 15;
constexpr int kOpN = 0, kOpT = 1;
constexpr int kDefaultMath = 0, kPedanticMath = 2;
// Without it, shares of K of 16-bit operands may be added in D's type, which is less than the class
// promises.
constexpr int kFp32Reduction = 16;
constexpr int kAnyAlgorithm = -1, kAutotune = 999;

using Create = Status(Handle*);
using Destroy = Status(Handle);
using GetProperty = Status(int, int*);
using SetStream = Status(Handle, cudaStream_t);
using SetWorkspace = Status(Handle, void*, std::size_t);
using SetMathMode = Status(Handle, int);
using GetStatusName = const char*(Status);
// Column-major: handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc.
template <class T>
using Gemm = Status(Handle, int, int, int, int, int, const T*, const T*, int, const T*, int,
                    const T*, T*, int);
// The same for a batch: the matrix stride in elements follows each leading dimension, and the
// number of matrices comes last.
template <class T>
using GemmStridedBatched = Status(Handle, int, int, int, int, int, const T*, const T*, int,
                                  long long, const T*, int, long long, const T*, T*, int, long long,
                                  int);
// Of a batch whose matrices have their addresses in arrays on the device, in place of A, B and C.
template <class T>
using GemmBatched = Status(Handle, int, int, int, int, int, const T*, const T* const*, int,
                           const T* const*, int, const T*, T* const*, int, int);
// The same for types that are named: each matrix's follows its address; what the product is
// computed in and the algorithm come last.
using GemmEx = Status(Handle, int, int, int, int, int, const void*, const void*, int, int,
                      const void*, int, int, const void*, void*, int, int, int, int);
using GemmStridedBatchedEx = Status(Handle, int, int, int, int, int, const void*, const void*, int,
                                    int, long long, const void*, int, int, long long, const void*,
                                    void*, int, int, long long, int, int, int);
using GemmBatchedEx = Status(Handle, int, int, int, int, int, const void*, const void* const*, int,
                             int, const void* const*, int, int, const void*, void* const*, int, int,
                             int, int, int);

}  // namespace abi

int narrow(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw DeviceError("cuBLAS's 32-bit interface cannot take a size of " + std::to_string(value));
  }
  return static_cast<int>(value);
}

int op(bool transposed) { return transposed ? abi::kOpT : abi::kOpN; }

// The functions for one element type.
template <class T>
struct Functions {
  abi::Gemm<T>* gemm;
  abi::GemmStridedBatched<T>* strided_batched;
  abi::GemmBatched<T>* batched;
};

// Those for types that are named.
struct ExFunctions {
  abi::GemmEx* gemm;
  abi::GemmStridedBatchedEx* strided_batched;
  abi::GemmBatchedEx* batched;
};

void require_known(const GemmCall& call) {
  if (call.problem.batch_kind == BatchKind::groups) {
    throw DeviceError("cuBLAS is not called for batches of groups");
  }
  if (call.D != call.C) throw DeviceError("cuBLAS takes calls only whose C is D");
}

enum class Kind { f32, f64, mixed };

Kind kind_of(const Signature& types) {
  if (cublas_abi::is_sgemm(types)) return Kind::f32;
  if (types == signature_of(kReferenceType)) return Kind::f64;
  if (cublas_abi::has_function(types)) return Kind::mixed;
  throw DeviceError("no cuBLAS function for " + to_string(types));
}

// cuBLAS is column-major and reads a row-major matrix as its transpose. C^T = op(B)^T * op(A)^T is
// therefore the same product with the operands, and M and N, swapped.
template <class T>
abi::Status enqueue(const Functions<T>& functions, abi::Handle handle, const GemmCall& c) {
  const Problem& p = c.problem;
  const int op_a = op(transposes_a(p.layout)), op_b = op(transposes_b(p.layout));
  const int m = narrow(p.N), n = narrow(p.M), k = narrow(p.K);
  const int lda = narrow(c.lda), ldb = narrow(c.ldb), ldc = narrow(c.ldc);
  const T alpha = static_cast<T>(c.alpha), beta = static_cast<T>(c.beta);
  const auto *A = static_cast<const T*>(c.A), *B = static_cast<const T*>(c.B);
  auto* const D = static_cast<T*>(c.D);
  if (p.batch_kind == BatchKind::pointers) {
    const auto *const *As = static_cast<const T*const*>(c.A), *const *Bs =
                                                                  static_cast<const T*const*>(c.B);
    return functions.batched(handle, op_b, op_a, m, n, k, &alpha, Bs, ldb, As, lda, &beta,
                             static_cast<T* const*>(c.D), ldc, narrow(p.batch));
  }
  if (p.batch == 1) {
    return functions.gemm(handle, op_b, op_a, m, n, k, &alpha, B, ldb, A, lda, &beta, D, ldc);
  }
  return functions.strided_batched(handle, op_b, op_a, m, n, k, &alpha, B, ldb, c.stride_b, A, lda,
                                   c.stride_a, &beta, D, ldc, c.stride_c, narrow(p.batch));
}

abi::Status enqueue(const ExFunctions& functions, abi::Handle handle, const GemmCall& c,
                    int algorithm) {
  using cublas_abi::data_type;
  const Problem& p = c.problem;
  const int op_a = op(transposes_a(p.layout)), op_b = op(transposes_b(p.layout));
  const int m = narrow(p.N), n = narrow(p.M), k = narrow(p.K);
  const int lda = narrow(c.lda), ldb = narrow(c.ldb), ldc = narrow(c.ldc);
  const int a = data_type(p.signature.a), b = data_type(p.signature.b),
            d = data_type(p.signature.d);
  const auto alpha = static_cast<float>(c.alpha), beta = static_cast<float>(c.beta);
  if (p.batch_kind == BatchKind::pointers) {
    return functions.batched(
        handle, op_b, op_a, m, n, k, &alpha, static_cast<const void* const*>(c.B), b, ldb,
        static_cast<const void* const*>(c.A), a, lda, &beta, static_cast<void* const*>(c.D), d, ldc,
        narrow(p.batch), cublas_abi::kComputeF32, algorithm);
  }
  if (p.batch == 1) {
    return functions.gemm(handle, op_b, op_a, m, n, k, &alpha, c.B, b, ldb, c.A, a, lda, &beta, c.D,
                          d, ldc, cublas_abi::kComputeF32, algorithm);
  }
  return functions.strided_batched(handle, op_b, op_a, m, n, k, &alpha, c.B, b, ldb, c.stride_b,
                                   c.A, a, lda, c.stride_a, &beta, c.D, d, ldc, c.stride_c,
                                   narrow(p.batch), cublas_abi::kComputeF32, algorithm);
}

// The function for the problem's kind of batch.
const char* one_of(const Problem& problem, const char* single, const char* strided,
                   const char* pointers) {
  if (problem.batch_kind == BatchKind::pointers) return pointers;
  return problem.batch == 1 ? single : strided;
}

}  // namespace

struct Cublas::Impl {
  void* library = open_cublas_library("libcublas.so.13");
  abi::Create* create = find_function<abi::Create>(library, "cublasCreate_v2");
  abi::Destroy* destroy = find_function<abi::Destroy>(library, "cublasDestroy_v2");
  abi::GetProperty* get_property = find_function<abi::GetProperty>(library, "cublasGetProperty");
  abi::SetStream* set_stream = find_function<abi::SetStream>(library, "cublasSetStream_v2");
  abi::SetWorkspace* set_workspace =
      find_function<abi::SetWorkspace>(library, "cublasSetWorkspace_v2");
  abi::SetMathMode* set_math_mode = find_function<abi::SetMathMode>(library, "cublasSetMathMode");
  Functions<float> sgemm = {
      find_function<abi::Gemm<float>>(library, "cublasSgemm_v2"),
      find_function<abi::GemmStridedBatched<float>>(library, "cublasSgemmStridedBatched"),
      find_function<abi::GemmBatched<float>>(library, "cublasSgemmBatched")};
  Functions<double> dgemm = {
      find_function<abi::Gemm<double>>(library, "cublasDgemm_v2"),
      find_function<abi::GemmStridedBatched<double>>(library, "cublasDgemmStridedBatched"),
      find_function<abi::GemmBatched<double>>(library, "cublasDgemmBatched")};
  ExFunctions ex = {find_function<abi::GemmEx>(library, "cublasGemmEx"),
                    find_function<abi::GemmStridedBatchedEx>(library, "cublasGemmStridedBatchedEx"),
                    find_function<abi::GemmBatchedEx>(library, "cublasGemmBatchedEx")};
  abi::GetStatusName* status_name =
      find_function<abi::GetStatusName>(library, "cublasGetStatusName");
  abi::Handle handle = nullptr;

  Impl() { check(create(&handle), "cublasCreate"); }
  ~Impl() {
    if (handle != nullptr) destroy(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_math(int mode) const { check(set_math_mode(handle, mode), "cublasSetMathMode"); }

  void check(abi::Status status, const char* call) const {
    if (status == abi::kSuccess) return;
    throw DeviceError(std::string(call) + " failed with " + status_name(status));
  }
};

Cublas::Cublas() : impl_(std::make_unique<Impl>()) {}
Cublas::~Cublas() = default;
Cublas::Cublas(Cublas&&) noexcept = default;
Cublas& Cublas::operator=(Cublas&&) noexcept = default;

std::string Cublas::version() const {
  return cublas_version([&](int part, int* number) {
    impl_->check(impl_->get_property(part, number), "cublasGetProperty");
  });
}

std::string Cublas::installed_version() {
  void* const library = open_cublas_library("libcublas.so.13");
  const auto get_property = find_function<abi::GetProperty>(library, "cublasGetProperty");
  return cublas_version([&](int part, int* number) {
    if (get_property(part, number) != abi::kSuccess) throw DeviceError("cublasGetProperty failed");
  });
}

void Cublas::set_stream(cudaStream_t stream) {
  impl_->check(impl_->set_stream(impl_->handle, stream), "cublasSetStream");
}

void Cublas::set_workspace(void* memory, std::int64_t bytes) {
  impl_->check(impl_->set_workspace(impl_->handle, memory, static_cast<std::size_t>(bytes)),
               "cublasSetWorkspace");
}

void Cublas::gemm(const GemmCall& call, Math math) {
  require_known(call);
  const char* const name = function_name(call.problem);
  switch (kind_of(call.problem.signature)) {
    case Kind::f32:
      impl_->set_math(math == Math::pedantic ? abi::kPedanticMath : abi::kDefaultMath);
      impl_->check(enqueue(impl_->sgemm, impl_->handle, call), name);
      return;
    case Kind::f64:
      impl_->check(enqueue(impl_->dgemm, impl_->handle, call), name);
      return;
    case Kind::mixed:
      impl_->set_math(abi::kFp32Reduction);
      impl_->check(enqueue(impl_->ex, impl_->handle, call, abi::kAnyAlgorithm), name);
      return;
  }
}

std::optional<std::string> Cublas::gemm_autotuned(const GemmCall& call) {
  require_known(call);
  const char* const name = autotuned_name(call.problem);
  const bool mixed = kind_of(call.problem.signature) == Kind::mixed;
  impl_->set_math(mixed ? abi::kFp32Reduction : abi::kDefaultMath);
  const abi::Status status = enqueue(impl_->ex, impl_->handle, call, abi::kAutotune);
  for (const abi::Status refusal : {abi::kInvalidValue, abi::kArchMismatch, abi::kNotSupported}) {
    if (status == refusal) return impl_->status_name(status);
  }
  impl_->check(status, name);
  return std::nullopt;
}

const char* Cublas::autotuned_name(const Problem& problem) {
  if (kind_of(problem.signature) == Kind::f64) {
    throw DeviceError("no autotuned cuBLAS function for " + to_string(problem.signature));
  }
  return one_of(problem, "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx");
}

const char* Cublas::function_name(const Problem& problem) {
  switch (kind_of(problem.signature)) {
    case Kind::f32:
      return one_of(problem, "cublasSgemm", "cublasSgemmStridedBatched", "cublasSgemmBatched");
    case Kind::f64:
      return one_of(problem, "cublasDgemm", "cublasDgemmStridedBatched", "cublasDgemmBatched");
    case Kind::mixed:
      return one_of(problem, "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx");
  }
  return "";
}

}  // namespace gemm_tune
