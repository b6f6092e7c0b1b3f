// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cublas.h"

#include <limits>
#include <vector>

#include "core/error.h"
#include "core/problem/cublas_functions.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {
namespace {

// The part of cuBLAS 13's binary interface that this file uses beside its products
// (core/problem/cublas_functions.h), as cublas_v2.h and library_types.h declare it. Repeated here
// because those headers come with 400 MB of libraries that a build does not need.
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
}  // namespace abi

int narrow(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw DeviceError("cuBLAS's 32-bit interface cannot take a size of " + std::to_string(value));
  }
  return static_cast<int>(value);
}

int op(bool transposed) { return transposed ? abi::kOpT : abi::kOpN; }

// An argument for whatever a parameter points to.
struct Address {
  const void* at;

  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator T*() const {
    return static_cast<T*>(const_cast<void*>(at));
  }
};

// The arguments of any function, named as its parameters.
struct Arguments {
  abi::Handle handle;
  int op_a, op_b, m, n, k;
  Address alpha, A;
  int type_a, lda;
  long long stride_a;
  Address B;
  int type_b, ldb;
  long long stride_b;
  Address beta, C;
  int type_c, ldc;
  long long stride_c;
  int batch, compute_type, algorithm;
};

struct Callee {
  const char* symbol;
  abi::Status (*call)(void* function, const Arguments& all);
};

// In the order of CublasFunction.
constexpr Callee kCallees[] = {
#define GT_ROW(name, suffix, Scalar, type, kind, computing)                                        \
  {#name #suffix, [](void* function, const Arguments& all) {                                       \
     const auto& [handle, op_a, op_b, m, n, k, alpha, A, type_a, lda, stride_a, B, type_b, ldb,    \
                  stride_b, beta, C, type_c, ldc, stride_c, batch, compute_type, algorithm] = all; \
     using Function = abi::Status GT_CUBLAS_PARAMETERS(int, Scalar, type, kind, computing);        \
     return reinterpret_cast<Function*>(function) GT_CUBLAS_ARGUMENTS(type, kind, computing);      \
   }},
    GT_CUBLAS_PLAIN_FUNCTIONS(GT_ROW) GT_CUBLAS_REFERENCE_FUNCTIONS(GT_ROW)
#undef GT_ROW
};

void require_known(const GemmCall& call) {
  if (call.problem.batch_kind == BatchKind::groups) {
    throw DeviceError("cuBLAS is not called for batches of groups");
  }
  if (call.D != call.C) throw DeviceError("cuBLAS takes calls only whose C is D");
}

// By which functions multiply these types: NAMED for those whose types are arguments.
CublasType type_of(const Signature& types) {
  const bool is_plain = cublas_abi::compute_type(types) == cublas_abi::kComputeF32;
  if (cublas_abi::is_sgemm(types) && is_plain) return CublasType::F32;
  if (types == signature_of(kReferenceType)) return CublasType::F64;
  if (cublas_abi::has_function(types)) return CublasType::NAMED;
  throw DeviceError("no cuBLAS function for " + to_string(types));
}

// The function of the type for the problem's kind of batch.
CublasFunction function_of(CublasType type, const Problem& problem) {
  const CublasBatch batch = problem.batch_kind == BatchKind::pointers ? CublasBatch::POINTERS
                            : problem.batch == 1                      ? CublasBatch::SINGLE
                                                                      : CublasBatch::STRIDED;
  int index = 0;
  for (const CublasFunctionInfo& one : kCublasFunctions) {
    if (one.type == type && one.computing == type && one.batch == batch) break;
    ++index;
  }
  return static_cast<CublasFunction>(index);
}

// alpha, beta: of the function's type.
//
// cuBLAS is column-major and reads a row-major matrix as its transpose. C^T = op(B)^T * op(A)^T is
// therefore the same product with the operands, and M and N, swapped.
Arguments arguments_of(const GemmCall& c, abi::Handle handle, const void* alpha, const void* beta,
                       int algorithm) {
  using cublas_abi::data_type;
  const Problem& p = c.problem;
  return {handle,
          op(transposes_b(p.layout)),
          op(transposes_a(p.layout)),
          narrow(p.N),
          narrow(p.M),
          narrow(p.K),
          {alpha},
          {c.B},
          data_type(p.signature.b),
          narrow(c.ldb),
          c.stride_b,
          {c.A},
          data_type(p.signature.a),
          narrow(c.lda),
          c.stride_a,
          {beta},
          {c.D},
          data_type(p.signature.d),
          narrow(c.ldc),
          c.stride_c,
          narrow(p.batch),
          cublas_abi::compute_type(p.signature),
          algorithm};
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
  std::vector<void*> products = [this] {
    std::vector<void*> found;
    for (const Callee& one : kCallees) found.push_back(find_function<void>(library, one.symbol));
    return found;
  }();
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

  abi::Status enqueue(CublasFunction function, const GemmCall& call, int algorithm) const {
    const auto index = static_cast<std::size_t>(function);
    const double wide[] = {call.alpha, call.beta};
    const float narrowed[] = {static_cast<float>(call.alpha), static_cast<float>(call.beta)};
    const bool is_wide = info_of(function).computing == CublasType::F64;
    const void* const alpha = is_wide ? static_cast<const void*>(&wide[0]) : &narrowed[0];
    const void* const beta = is_wide ? static_cast<const void*>(&wide[1]) : &narrowed[1];
    return kCallees[index].call(products[index],
                                arguments_of(call, handle, alpha, beta, algorithm));
  }

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
  const CublasType type = type_of(call.problem.signature);
  const bool is_pedantic = type == CublasType::F32 && math == Math::pedantic;
  if (type != CublasType::F64) {
    impl_->set_math(is_pedantic                 ? abi::kPedanticMath
                    : type == CublasType::NAMED ? abi::kFp32Reduction
                                                : abi::kDefaultMath);
  }
  impl_->check(impl_->enqueue(function_of(type, call.problem), call, abi::kAnyAlgorithm),
               function_name(call.problem));
}

std::optional<std::string> Cublas::gemm_autotuned(const GemmCall& call) {
  require_known(call);
  const char* const name = autotuned_name(call.problem);
  const bool is_named = type_of(call.problem.signature) == CublasType::NAMED;
  impl_->set_math(is_named ? abi::kFp32Reduction : abi::kDefaultMath);
  const abi::Status status =
      impl_->enqueue(function_of(CublasType::NAMED, call.problem), call, abi::kAutotune);
  for (const abi::Status refusal : {abi::kInvalidValue, abi::kArchMismatch, abi::kNotSupported}) {
    if (status == refusal) return impl_->status_name(status);
  }
  impl_->check(status, name);
  return std::nullopt;
}

const char* Cublas::autotuned_name(const Problem& problem) {
  if (type_of(problem.signature) == CublasType::F64) {
    throw DeviceError("no autotuned cuBLAS function for " + to_string(problem.signature));
  }
  return info_of(function_of(CublasType::NAMED, problem)).name;
}

const char* Cublas::function_name(const Problem& problem) {
  return info_of(function_of(type_of(problem.signature), problem)).name;
}

}  // namespace gemm_tune
