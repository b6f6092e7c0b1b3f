// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_libraries/cublas_lt.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {
namespace {

// The part of cublasLt 13's binary interface that this file uses, as cublasLt.h, cublas_api.h and
// library_types.h declare it; gpu/cuda_libraries/cublas.cpp says why.
namespace abi {

using Handle = struct LtContext*;
using MatmulDesc = struct MatmulDescription*;
using MatrixLayout = struct LayoutDescription*;
using Preference = struct PreferenceDescription*;
using Status = int;  // enumerations are int in C, here and below
constexpr Status kSuccess = 0;
constexpr Status kNotSupported = 15;
constexpr int kOpN = 0, kOpT = 1;
constexpr int kDescTransposeA = 3, kDescTransposeB = 4, kDescEpilogue = 7, kDescBias = 8,
              kDescAux = 11, kDescAuxLd = 12, kDescAuxStride = 13;
constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
constexpr int kPreferenceMaxWorkspaceBytes = 1;
constexpr int kPreferenceReductionSchemes = 3;
constexpr std::uint32_t kReduceInComputeType = 2;
constexpr int kPreferenceMinAlignment[] = {5, 6, 7, 8};  // of A, B, C, D; bytes

struct Algorithm {
  std::array<std::uint32_t, kLtWords> data;
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

// Of cublasLtMatmulAlgoConfigAttributes_t: the algorithm's number, then in the order in which
// LtAlgorithm has them.
struct Attribute {
  int id;
  std::size_t bytes;
};
constexpr std::array<Attribute, kLtAttributes> kAttributes = {{
    {0, 4},  // algorithm's number
    {1, 4},  // tile
    {6, 4},  // stages
    {2, 4},  // split of K
    {3, 4},  // reduction scheme
    {4, 4},  // order of CTAs
    {5, 4},  // custom option
    {7, 2},  // inner shape
    {8, 2},  // cluster shape
}};

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
using AlgoInit = Status(Handle, int compute, int scale, int a, int b, int c, int d, int id,
                        Algorithm*);
using AlgoCheck = Status(Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                         MatrixLayout d, const Algorithm*, Heuristic*);
using GetAlgoAttribute = Status(const Algorithm*, int attribute, void* value, std::size_t bytes,
                                std::size_t* written);
using SetAlgoAttribute = Status(Algorithm*, int attribute, const void* value, std::size_t bytes);
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
  abi::AlgoInit* init_algorithm = find_function<abi::AlgoInit>(handle, "cublasLtMatmulAlgoInit");
  abi::AlgoCheck* check_algorithm =
      find_function<abi::AlgoCheck>(handle, "cublasLtMatmulAlgoCheck");
  abi::GetAlgoAttribute* get_attribute =
      find_function<abi::GetAlgoAttribute>(handle, "cublasLtMatmulAlgoConfigGetAttribute");
  abi::SetAlgoAttribute* set_attribute =
      find_function<abi::SetAlgoAttribute>(handle, "cublasLtMatmulAlgoConfigSetAttribute");
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

  // The addresses of the epilogue's operands, which are part of the description.
  void set_operands(const GemmCall& call) const;

  const CublasLt::Impl& owner;
  GemmCall call;
  Owned<abi::MatmulDesc> matmul;
  Owned<abi::MatrixLayout> a, b, c, d;
  struct Proposal {
    abi::Algorithm algorithm;
    std::size_t workspace_bytes;
  };
  std::vector<Proposal> algorithms;

  // The structure that the attributes at the front of an LtAlgorithm make, as far as cublasLt takes
  // them: what it does not take is among the words that follow.
  abi::Algorithm made_of_attributes(const LtAlgorithm& algorithm) const;
};

CublasLt::Plan::Impl::Impl(const CublasLt::Impl& lt_impl, const GemmCall& made_for)
    : owner(lt_impl), call(made_for) {
  const Library& lt = owner.lt;
  abi::MatmulDesc desc = nullptr;
  lt.check(lt.create_desc(&desc, cublas_abi::compute_type(made_for.problem.signature),
                          cublas_abi::data_type(kSumType)),
           "cublasLtMatmulDescCreate");
  matmul = Owned<abi::MatmulDesc>(desc, lt.destroy_desc);
  const Problem& p = call.problem;
  if (p.batch_kind != BatchKind::strided) {
    throw DeviceError("cublasLt is not called for batches of " +
                      std::string(to_string(p.batch_kind)));
  }
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
  if (p.epilogue.is_none()) return;
  const auto number = cublas_abi::lt_number(p.epilogue.transposed());
  if (!number) throw DeviceError("cublasLt has no epilogue " + gemm_tune::to_string(p.epilogue));
  const auto value = static_cast<std::uint32_t>(*number);
  lt.check(lt.set_desc(desc, abi::kDescEpilogue, &value, sizeof value),
           "cublasLtMatmulDescSetAttribute");
  set_operands(call);
}

void CublasLt::Plan::Impl::set_operands(const GemmCall& with) const {
  const auto set = [&](int attribute, auto value) {
    owner.lt.check(owner.lt.set_desc(matmul.get(), attribute, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
  };
  with.problem.epilogue.for_each([&](const EpilogueFunctor& functor, int slot) {
    if (slot < 0) return;
    const void* const operand = with.operands[static_cast<std::size_t>(slot)];
    set(functor.stage == Stage::bias ? abi::kDescBias : abi::kDescAux, operand);
    if (functor.stage == Stage::bias) return;
    set(abi::kDescAuxLd, with.ldc);
    set(abi::kDescAuxStride, with.stride_c);
  });
}

CublasLt::CublasLt() : impl_(std::make_unique<Impl>()) {}
CublasLt::~CublasLt() = default;
CublasLt::CublasLt(CublasLt&&) noexcept = default;
CublasLt& CublasLt::operator=(CublasLt&&) noexcept = default;

std::string CublasLt::version() const {
  return cublas_version([&](int part, int* number) {
    impl_->lt.check(impl_->lt.get_property(part, number), "cublasLtGetProperty");
  });
}

std::string CublasLt::installed_version() {
  const Library lt;
  return cublas_version([&](int part, int* number) {
    lt.check(lt.get_property(part, number), "cublasLtGetProperty");
  });
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
  if (call.problem.signature.d != kSumType) {
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

abi::Algorithm CublasLt::Plan::Impl::made_of_attributes(const LtAlgorithm& algorithm) const {
  const Library& lt = owner.lt;
  const Signature& types = call.problem.signature;
  const int c = cublas_abi::data_type(types.c), d = cublas_abi::data_type(types.d);
  abi::Algorithm made{};
  lt.init_algorithm(owner.handle, cublas_abi::compute_type(types), cublas_abi::data_type(kSumType),
                    cublas_abi::data_type(types.b), cublas_abi::data_type(types.a), c, d,
                    algorithm.front(), &made);
  for (std::size_t i = 1; i < kLtAttributes; ++i) {
    const auto [id, bytes] = abi::kAttributes[i];
    lt.set_attribute(&made, id, &algorithm[i], bytes);  // little-endian
  }
  return made;
}

LtAlgorithm CublasLt::Plan::algorithm(std::size_t i) const {
  const Impl::Proposal& one = impl_->algorithms[i];
  LtAlgorithm numbers{};
  for (std::size_t at = 0; at < kLtAttributes; ++at) {
    const auto [id, bytes] = abi::kAttributes[at];
    std::size_t written = 0;
    impl_->owner.lt.get_attribute(&one.algorithm, id, &numbers[at], bytes, &written);
  }
  numbers[kLtAttributes] = static_cast<int>(one.workspace_bytes);
  const abi::Algorithm made = impl_->made_of_attributes(numbers);
  for (std::size_t word = 0; word < kLtWords; ++word) {
    numbers[kLtAttributes + 1 + word] =
        static_cast<int>(one.algorithm.data[word] ^ made.data[word]);
  }
  return numbers;
}

std::optional<CublasLt::Plan> CublasLt::plan_of(const LtAlgorithm& algorithm,
                                                const GemmCall& call) const {
  auto plan = std::make_unique<Plan::Impl>(*impl_, call);
  Plan::Impl::Proposal one{plan->made_of_attributes(algorithm), 0};
  for (std::size_t word = 0; word < kLtWords; ++word) {
    one.algorithm.data[word] ^= static_cast<std::uint32_t>(algorithm[kLtAttributes + 1 + word]);
  }
  abi::Heuristic checked{};
  const abi::Status status =
      impl_->lt.check_algorithm(impl_->handle, plan->matmul.get(), plan->a.get(), plan->b.get(),
                                plan->c.get(), plan->d.get(), &one.algorithm, &checked);
  if (status != abi::kSuccess) return std::nullopt;
  const auto asked = static_cast<std::size_t>(std::max(algorithm[kLtAttributes], 0));
  one.workspace_bytes = std::max(checked.workspace_bytes, asked);
  if (one.workspace_bytes > kWorkspaceBytes) return std::nullopt;
  plan->algorithms.push_back(one);
  return Plan(std::move(plan));
}

std::size_t CublasLt::Plan::workspace_bytes(std::size_t i) const {
  return impl_->algorithms[i].workspace_bytes;
}

bool CublasLt::Plan::has_shape_of(const GemmCall& other) const {
  const GemmCall& own = impl_->call;
  const Problem &p = other.problem, &q = own.problem;
  const auto row_lengths = [](const GemmCall& one) { return std::tie(one.lda, one.ldb, one.ldc); };
  const auto strides = [](const GemmCall& one) {
    return std::tie(one.stride_a, one.stride_b, one.stride_c);
  };
  return std::tie(p.M, p.N, p.K, p.batch, p.layout, p.signature, p.epilogue) ==
             std::tie(q.M, q.N, q.K, q.batch, q.layout, q.signature, q.epilogue) &&
         row_lengths(other) == row_lengths(own) && (p.batch == 1 || strides(other) == strides(own));
}

bool CublasLt::Plan::run(std::size_t i, const GemmCall& call, cudaStream_t stream,
                         void* workspace) const {
  const CublasLt::Impl& owner = impl_->owner;
  const Impl::Proposal& one = impl_->algorithms[i];
  const auto alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  if (!call.problem.epilogue.is_none()) impl_->set_operands(call);
  return owner.lt.matmul(owner.handle, impl_->matmul.get(), &alpha, call.B, impl_->a.get(), call.A,
                         impl_->b.get(), &beta, call.C, impl_->c.get(), call.D, impl_->d.get(),
                         &one.algorithm, workspace, one.workspace_bytes, stream) == abi::kSuccess;
}

}  // namespace gemm_tune
