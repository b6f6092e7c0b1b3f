// SPDX-License-Identifier: Apache-2.0
#include "gpu/cublas_lt.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "gpu/cublas_types.h"
#include "gpu/cuda_library.h"

namespace gemm_tune {
namespace {

// The part of cublasLt 13's binary interface that this file uses, as cublasLt.h, cublas_api.h and
// library_types.h declare it; gpu/cublas.cpp says why.
namespace abi {

using Handle = struct LtContext*;
using MatmulDesc = struct MatmulDescription*;
using MatrixLayout = struct LayoutDescription*;
using Preference = struct PreferenceDescription*;
using Status = int;  // enumerations are int in C, here and below
constexpr Status kSuccess = 0;
constexpr Status kNotSupported = 15;
constexpr int kOpN = 0, kOpT = 1;
constexpr int kDescTransposeA = 3, kDescTransposeB = 4;
constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
constexpr int kPreferenceMaxWorkspaceBytes = 1;
constexpr int kPreferenceReductionSchemes = 3;
constexpr std::uint32_t kReduceInComputeType = 2;
constexpr int kPreferenceMinAlignment[] = {5, 6, 7, 8};  // of A, B, C, D; bytes
constexpr int kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2;

struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

using Create = Status(Handle*);
using Destroy = Status(Handle);
using GetProperty = Status(int, int*);
using GetStatusName = const char*(Status);
using MatmulDescCreate = Status(MatmulDesc*, int compute, int scale);
using MatrixLayoutCreate = Status(MatrixLayout*, int type, std::uint64_t rows, std::uint64_t cols,
                                  std::int64_t ld);
using PreferenceCreate = Status(Preference*);
template <class Object>
using SetAttribute = Status(Object, int attribute, const void* value, std::size_t bytes);
template <class Object>
using DestroyObject = Status(Object);
using GetHeuristic = Status(Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                            MatrixLayout d, Preference, int most, Heuristic* found, int* count);
// Column-major, D = alpha * op(A) * op(B) + beta * C.
using Matmul = Status(Handle, MatmulDesc, const void* alpha, const void* a, MatrixLayout,
                      const void* b, MatrixLayout, const void* beta, const void* c, MatrixLayout,
                      void* d, MatrixLayout, const Algorithm*, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t);

}  // namespace abi

struct Library {
  void* const handle = open_cublas_library("libcublasLt.so.13");
  abi::Create* create = find_function<abi::Create>(handle, "cublasLtCreate");
  abi::Destroy* destroy = find_function<abi::Destroy>(handle, "cublasLtDestroy");
  abi::GetProperty* get_property = find_function<abi::GetProperty>(handle, "cublasLtGetProperty");
  abi::GetStatusName* status_name =
      find_function<abi::GetStatusName>(handle, "cublasLtGetStatusName");
  abi::MatmulDescCreate* create_desc =
      find_function<abi::MatmulDescCreate>(handle, "cublasLtMatmulDescCreate");
  abi::SetAttribute<abi::MatmulDesc>* set_desc =
      find_function<abi::SetAttribute<abi::MatmulDesc>>(handle, "cublasLtMatmulDescSetAttribute");
  abi::DestroyObject<abi::MatmulDesc>* destroy_desc =
      find_function<abi::DestroyObject<abi::MatmulDesc>>(handle, "cublasLtMatmulDescDestroy");
  abi::MatrixLayoutCreate* create_layout =
      find_function<abi::MatrixLayoutCreate>(handle, "cublasLtMatrixLayoutCreate");
  abi::SetAttribute<abi::MatrixLayout>* set_layout =
      find_function<abi::SetAttribute<abi::MatrixLayout>>(handle,
                                                          "cublasLtMatrixLayoutSetAttribute");
  abi::DestroyObject<abi::MatrixLayout>* destroy_layout =
      find_function<abi::DestroyObject<abi::MatrixLayout>>(handle, "cublasLtMatrixLayoutDestroy");
  abi::PreferenceCreate* create_preference =
      find_function<abi::PreferenceCreate>(handle, "cublasLtMatmulPreferenceCreate");
  abi::SetAttribute<abi::Preference>* set_preference =
      find_function<abi::SetAttribute<abi::Preference>>(handle,
                                                        "cublasLtMatmulPreferenceSetAttribute");
  abi::DestroyObject<abi::Preference>* destroy_preference =
      find_function<abi::DestroyObject<abi::Preference>>(handle, "cublasLtMatmulPreferenceDestroy");
  abi::GetHeuristic* get_heuristic =
      find_function<abi::GetHeuristic>(handle, "cublasLtMatmulAlgoGetHeuristic");
  abi::Matmul* matmul = find_function<abi::Matmul>(handle, "cublasLtMatmul");

  void check(abi::Status status, const char* call) const {
    if (status == abi::kSuccess) return;
    throw DeviceError(std::string(call) + " failed with " + status_name(status));
  }
};

// One of cublasLt's objects, destroyed with its owner.
template <class Object>
class Owned {
 public:
  Owned() = default;
  Owned(Object object, abi::DestroyObject<Object>* destroy) : object_(object), destroy_(destroy) {}
  ~Owned() {
    if (object_ != nullptr) destroy_(object_);
  }
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  Object get() const { return object_; }

 private:
  Object object_ = nullptr;
  abi::DestroyObject<Object>* destroy_ = nullptr;
};

// A stored matrix of rows x cols, with ld elements between rows. Column-major it is the transpose.
Owned<abi::MatrixLayout> stored_matrix(const Library& lt, ElementType type, std::int64_t rows,
                                       std::int64_t cols, std::int64_t ld, std::int64_t stride,
                                       std::int64_t batch) {
  abi::MatrixLayout raw = nullptr;
  lt.check(lt.create_layout(&raw, cublas_abi::data_type(type), static_cast<std::uint64_t>(cols),
                            static_cast<std::uint64_t>(rows), ld),
           "cublasLtMatrixLayoutCreate");
  Owned<abi::MatrixLayout> layout(raw, lt.destroy_layout);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    lt.check(lt.set_layout(raw, abi::kLayoutBatchCount, &count, sizeof count),
             "cublasLtMatrixLayoutSetAttribute");
    lt.check(lt.set_layout(raw, abi::kLayoutBatchStride, &stride, sizeof stride),
             "cublasLtMatrixLayoutSetAttribute");
  }
  return layout;
}

// The address's alignment in bytes, at most 256: cublasLt gains nothing from more.
std::uint32_t alignment_bytes(const void* address) {
  std::uint32_t alignment = 256;
  while (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) alignment /= 2;
  return alignment;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

struct CublasLt::Impl {
  Library lt;
  abi::Handle handle = nullptr;

  Impl() { lt.check(lt.create(&handle), "cublasLtCreate"); }
  ~Impl() {
    if (handle != nullptr) lt.destroy(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

// In cublasLt's column-major terms: its A is our B, its rows are our columns.
struct CublasLt::Plan::Impl {
  // Without algorithms. Throws DeviceError.
  Impl(const CublasLt::Impl& lt, const GemmCall& made_for);

  const CublasLt::Impl& owner;
  GemmCall call;
  Owned<abi::MatmulDesc> matmul;
  Owned<abi::MatrixLayout> a, b, c, d;
  struct Proposal {
    abi::Algorithm algorithm;
    std::size_t workspace_bytes;
  };
  std::vector<Proposal> algorithms;
};

CublasLt::Plan::Impl::Impl(const CublasLt::Impl& lt_impl, const GemmCall& made_for)
    : owner(lt_impl), call(made_for) {
  const Library& lt = owner.lt;
  abi::MatmulDesc desc = nullptr;
  lt.check(lt.create_desc(&desc, cublas_abi::kComputeF32, cublas_abi::data_type(ElementType::f32)),
           "cublasLtMatmulDescCreate");
  matmul = Owned<abi::MatmulDesc>(desc, lt.destroy_desc);
  const Problem& p = call.problem;
  const bool ta = transposes_a(p.layout), tb = transposes_b(p.layout);
  const std::int32_t op_a = tb ? abi::kOpT : abi::kOpN, op_b = ta ? abi::kOpT : abi::kOpN;
  lt.check(lt.set_desc(desc, abi::kDescTransposeA, &op_a, sizeof op_a),
           "cublasLtMatmulDescSetAttribute");
  lt.check(lt.set_desc(desc, abi::kDescTransposeB, &op_b, sizeof op_b),
           "cublasLtMatmulDescSetAttribute");
  const auto matrix = [&](ElementType type, std::int64_t rows, std::int64_t row_length,
                          std::int64_t ld, std::int64_t stride) {
    return stored_matrix(lt, type, rows, row_length, ld, stride, p.batch);
  };
  const Signature& types = p.signature;
  a = matrix(types.b, rows_b(p), row_length_b(p), call.ldb, call.stride_b);
  b = matrix(types.a, rows_a(p), row_length_a(p), call.lda, call.stride_a);
  c = matrix(types.c, p.M, p.N, call.ldc, call.stride_c);
  d = matrix(types.d, p.M, p.N, call.ldc, call.stride_c);
}

CublasLt::CublasLt() : impl_(std::make_unique<Impl>()) {}
CublasLt::~CublasLt() = default;
CublasLt::CublasLt(CublasLt&&) noexcept = default;
CublasLt& CublasLt::operator=(CublasLt&&) noexcept = default;

std::string CublasLt::version() const {
  std::string text;
  for (const int part : {abi::kMajorVersion, abi::kMinorVersion, abi::kPatchLevel}) {
    int number = 0;
    impl_->lt.check(impl_->lt.get_property(part, &number), "cublasLtGetProperty");
    text += (text.empty() ? "" : ".") + std::to_string(number);
  }
  return text;
}

CublasLt::Plan CublasLt::plan(const GemmCall& call, int most) const {
  const Library& lt = impl_->lt;
  auto plan = std::make_unique<Plan::Impl>(*impl_, call);
  abi::Preference raw = nullptr;
  lt.check(lt.create_preference(&raw), "cublasLtMatmulPreferenceCreate");
  const Owned<abi::Preference> preference(raw, lt.destroy_preference);
  const std::uint64_t workspace = kWorkspaceBytes;
  lt.check(lt.set_preference(raw, abi::kPreferenceMaxWorkspaceBytes, &workspace, sizeof workspace),
           "cublasLtMatmulPreferenceSetAttribute");
  if (call.problem.signature.d != ElementType::f32) {
    // Shares along K that are added up in D's type would be rounded once each.
    lt.check(lt.set_preference(raw, abi::kPreferenceReductionSchemes, &abi::kReduceInComputeType,
                               sizeof abi::kReduceInComputeType),
             "cublasLtMatmulPreferenceSetAttribute");
  }
  const void* const addresses[] = {call.B, call.A, call.C, call.D};
  for (std::size_t i = 0; i < std::size(addresses); ++i) {
    const std::uint32_t alignment = alignment_bytes(addresses[i]);
    lt.check(lt.set_preference(raw, abi::kPreferenceMinAlignment[i], &alignment, sizeof alignment),
             "cublasLtMatmulPreferenceSetAttribute");
  }

  std::vector<abi::Heuristic> found(static_cast<std::size_t>(most));
  int count = 0;
  const abi::Status status =
      lt.get_heuristic(impl_->handle, plan->matmul.get(), plan->a.get(), plan->b.get(),
                       plan->c.get(), plan->d.get(), raw, most, found.data(), &count);
  if (status == abi::kNotSupported) count = 0;
  if (status != abi::kNotSupported) lt.check(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<std::size_t>(count));
  for (const abi::Heuristic& one : found) {
    if (one.state == abi::kSuccess && one.workspace_bytes <= kWorkspaceBytes) {
      plan->algorithms.push_back({one.algorithm, one.workspace_bytes});
    }
  }
  return Plan(std::move(plan));
}

CublasLt::Plan::Plan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLt::Plan::~Plan() = default;
CublasLt::Plan::Plan(Plan&&) noexcept = default;
CublasLt::Plan& CublasLt::Plan::operator=(Plan&&) noexcept = default;

std::size_t CublasLt::Plan::size() const { return impl_->algorithms.size(); }

std::string CublasLt::Plan::text(std::size_t i) const {
  std::string text;
  for (const std::uint64_t word : impl_->algorithms[i].algorithm.data) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kHexDigits[(word >> shift) & 15];
  }
  return text;
}

std::size_t CublasLt::Plan::workspace_bytes(std::size_t i) const {
  return impl_->algorithms[i].workspace_bytes;
}

bool CublasLt::Plan::takes(const GemmCall& call) const {
  const GemmCall& own = impl_->call;
  const Problem &p = call.problem, &q = own.problem;
  const auto row_lengths = [](const GemmCall& one) { return std::tie(one.lda, one.ldb, one.ldc); };
  const auto strides = [](const GemmCall& one) {
    return std::tie(one.stride_a, one.stride_b, one.stride_c);
  };
  const auto is_aligned = [](const void* address, const void* least) {
    return alignment_bytes(address) >= alignment_bytes(least);
  };
  return std::tie(p.M, p.N, p.K, p.batch, p.layout, p.signature) ==
             std::tie(q.M, q.N, q.K, q.batch, q.layout, q.signature) &&
         row_lengths(call) == row_lengths(own) && (p.batch == 1 || strides(call) == strides(own)) &&
         is_aligned(call.A, own.A) && is_aligned(call.B, own.B) && is_aligned(call.C, own.C) &&
         is_aligned(call.D, own.D);
}

bool CublasLt::Plan::run(std::size_t i, const GemmCall& call, cudaStream_t stream,
                         void* workspace) const {
  const CublasLt::Impl& owner = impl_->owner;
  const Impl::Proposal& one = impl_->algorithms[i];
  const auto alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  return owner.lt.matmul(owner.handle, impl_->matmul.get(), &alpha, call.B, impl_->a.get(), call.A,
                         impl_->b.get(), &beta, call.C, impl_->c.get(), call.D, impl_->d.get(),
                         &one.algorithm, workspace, one.workspace_bytes, stream) == abi::kSuccess;
}

}  // namespace gemm_tune
