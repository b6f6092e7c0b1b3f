// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/lt_products.h"

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/cuda_libraries/cuda_library.h"

namespace gemm_tune {
namespace {

// As cublasLt.h of CUDA 13 declares them.
constexpr int kSuccess = 0, kNotSupported = 15, kComputeTf32 = 77;
constexpr int kTransposeA = 3, kTransposeB = 4, kFastAccumulation = 25;
constexpr int kMostWorkspace = 1;  // of a preference

void check(int status, const char* what) {
  if (status == kSuccess) return;
  throw DeviceError(std::string(what) + " failed with status " + std::to_string(status));
}

}  // namespace

// In cublasLt's column-major terms: its A is our B, its rows are our columns.
struct LtProducts::Impl {
  // As cublasLt.h of CUDA 13 declares them.
  using Object = void*;
  struct Algorithm {
    std::uint64_t data[8];
  };
  struct Heuristic {
    Algorithm algorithm;
    std::size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  };

  using Create = int(Object*);
  using CreateDescription = int(Object*, int compute, int scale);
  using CreateLayout = int(Object*, int type, std::uint64_t rows, std::uint64_t cols,
                           std::int64_t ld);
  using Destroy = int(Object);
  using Set = int(Object, int attribute, const void* value, std::size_t bytes);
  using GetHeuristic = int(Object, Object, Object, Object, Object, Object, Object, int, Heuristic*,
                           int*);
  using Matmul = int(Object, Object, const void*, const void*, Object, const void*, Object,
                     const void*, const void*, Object, void*, Object, const Algorithm*, void*,
                     std::size_t, cudaStream_t);

  void* const library = open_cublas_library("libcublasLt.so.13");
  Matmul* const matmul = find_function<Matmul>(library, "cublasLtMatmul");
  GemmCall call;
  Object handle = nullptr, description = nullptr, preference = nullptr;
  Object a = nullptr, b = nullptr, d = nullptr;
  std::vector<Heuristic> found;

  explicit Impl(const GemmCall& of) : call(of) {}
  ~Impl() {
    const auto destroy = [this](Object object, const char* name) {
      if (object != nullptr) find_function<Destroy>(library, name)(object);
    };
    for (Object layout : {a, b, d}) destroy(layout, "cublasLtMatrixLayoutDestroy");
    destroy(preference, "cublasLtMatmulPreferenceDestroy");
    destroy(description, "cublasLtMatmulDescDestroy");
    destroy(handle, "cublasLtDestroy");
  }

  void describe(bool fast_accumulation) {
    const Problem& p = call.problem;
    const bool is_tf32 = p.signature.accuracy == Accuracy::tf32;
    check(find_function<Create>(library, "cublasLtCreate")(&handle), "cublasLtCreate");
    check(find_function<CreateDescription>(library, "cublasLtMatmulDescCreate")(
              &description, is_tf32 ? kComputeTf32 : cublas_abi::kComputeF32,
              cublas_abi::data_type(kSumType)),
          "cublasLtMatmulDescCreate");
    const auto set = find_function<Set>(library, "cublasLtMatmulDescSetAttribute");
    const std::int32_t op_a = transposes_b(p.layout) ? 1 : 0, op_b = transposes_a(p.layout) ? 1 : 0;
    check(set(description, kTransposeA, &op_a, sizeof op_a), "transposing A");
    check(set(description, kTransposeB, &op_b, sizeof op_b), "transposing B");
    const std::int8_t is_fast = fast_accumulation ? 1 : 0;
    check(set(description, kFastAccumulation, &is_fast, sizeof is_fast), "fast accumulation");
    const auto layout = [&](Object& made, ElementType type, std::int64_t rows, std::int64_t length,
                            std::int64_t ld) {
      check(find_function<CreateLayout>(library, "cublasLtMatrixLayoutCreate")(
                &made, cublas_abi::data_type(type), static_cast<std::uint64_t>(length),
                static_cast<std::uint64_t>(rows), ld),
            "cublasLtMatrixLayoutCreate");
    };
    layout(a, p.signature.b, rows_b(p), row_length_b(p), call.ldb);
    layout(b, p.signature.a, rows_a(p), row_length_a(p), call.lda);
    layout(d, p.signature.d, p.M, p.N, call.ldc);
  }

  void ask(int most) {
    check(find_function<Create>(library, "cublasLtMatmulPreferenceCreate")(&preference),
          "cublasLtMatmulPreferenceCreate");
    const std::uint64_t workspace = kWorkspaceBytes;
    check(find_function<Set>(library, "cublasLtMatmulPreferenceSetAttribute")(
              preference, kMostWorkspace, &workspace, sizeof workspace),
          "cublasLtMatmulPreferenceSetAttribute");
    found.resize(static_cast<std::size_t>(most));
    int count = 0;
    const int status = find_function<GetHeuristic>(library, "cublasLtMatmulAlgoGetHeuristic")(
        handle, description, a, b, d, d, preference, most, found.data(), &count);
    if (status == kNotSupported) count = 0;
    if (status != kNotSupported) check(status, "cublasLtMatmulAlgoGetHeuristic");
    found.resize(static_cast<std::size_t>(count));
  }
};

LtProducts::LtProducts(const GemmCall& call, bool fast_accumulation, int most)
    : impl_(std::make_unique<Impl>(call)) {
  impl_->describe(fast_accumulation);
  impl_->ask(most);
}

LtProducts::~LtProducts() = default;

std::size_t LtProducts::size() const { return impl_->found.size(); }

void LtProducts::run(std::size_t i, cudaStream_t stream, void* workspace) const {
  const GemmCall& call = impl_->call;
  const float alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  check(impl_->matmul(impl_->handle, impl_->description, &alpha, call.B, impl_->a, call.A, impl_->b,
                      &beta, call.D, impl_->d, call.D, impl_->d, &impl_->found[i].algorithm,
                      workspace, kWorkspaceBytes, stream),
        "cublasLtMatmul");
}

}  // namespace gemm_tune
