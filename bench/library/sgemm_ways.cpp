// SPDX-License-Identifier: Apache-2.0
#include "bench/library/sgemm_ways.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <random>

#include "core/error.h"
#include "gpu/cuda_libraries/cublas.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "gpu/cuda_libraries/cuda_library.h"
#include "gpu/device.h"
#include "tests/dispatch/open_kernels.h"

namespace gemm_tune {
namespace {

DeviceBuffer<float> random_matrix(std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> host(static_cast<std::size_t>(elements));
  for (float& x : host) x = std::uniform_real_distribution<float>(-1, 1)(random);
  DeviceBuffer<float> device(host.size());
  device.copy_from_host(host);
  return device;
}

}  // namespace

void check_status(gt_status status) {
  if (status != GT_OK) throw Error(gt_last_error());
}

gt_gemm_call c_call(const GemmCall& call) {
  const Problem& p = call.problem;
  const auto op = [](bool transposes) { return transposes ? GT_TRANSPOSE : GT_NO_TRANSPOSE; };
  const auto type = [](ElementType one) { return static_cast<gt_type>(one); };
  gt_gemm_call c = GT_GEMM_CALL_INIT;
  c.trans_a = op(transposes_a(p.layout));
  c.trans_b = op(transposes_b(p.layout));
  c.type_a = type(p.signature.a);
  c.type_b = type(p.signature.b);
  c.type_c = type(p.signature.c);
  c.type_d = type(p.signature.d);
  c.M = p.M;
  c.N = p.N;
  c.K = p.K;
  c.batch = p.batch;
  c.A = call.A;
  c.B = call.B;
  c.C = call.C;
  c.D = call.D;
  c.lda = call.lda;
  c.ldb = call.ldb;
  c.ldc = call.ldc;
  c.stride_a = call.stride_a;
  c.stride_b = call.stride_b;
  c.stride_c = call.stride_c;
  return c;
}

gt_gemm_call c_call(const GemmCall& call, Accuracy accuracy) {
  gt_gemm_call c = c_call(call);
  c.accuracy = static_cast<gt_accuracy>(accuracy);
  return c;
}

Problem packed_fp32_problem(const std::string& text) {
  const Problem p = parse_problem(text), packed = packed_problem(p.M, p.N, p.K, p.layout);
  if (p != packed) {
    throw UsageError(text + ": name a packed fp32 product without a batch, as in " +
                     to_string(packed));
  }
  return p;
}

OpenHandle::OpenHandle(const std::string& database, const std::string& cache) {
  check_status(open_kernels(database.c_str(), cache.empty() ? nullptr : cache.c_str(), &handle_));
}

OpenHandle::OpenHandle(const gt_options& options) { check_status(gt_open(&options, &handle_)); }

// As cublas_v2.h declares them; gpu/cuda_libraries/cublas.cpp says why they are repeated.
// Enumerations are int.
struct DirectCublas::Functions {
  using Create = int(void**);
  using Destroy = int(void*);
  using SetStream = int(void*, cudaStream_t);
  using Sgemm = int(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                    int, const float*, float*, int);
  using GemmEx = int(void*, int, int, int, int, int, const void*, const void*, int, int,
                     const void*, int, int, const void*, void*, int, int, int, int);

  void* library = open_cublas_library("libcublas.so.13");
  Create* create = find_function<Create>(library, "cublasCreate_v2");
  Destroy* destroy = find_function<Destroy>(library, "cublasDestroy_v2");
  SetStream* set_stream = find_function<SetStream>(library, "cublasSetStream_v2");
  Sgemm* sgemm = find_function<Sgemm>(library, "cublasSgemm_v2");
  GemmEx* gemm_ex = find_function<GemmEx>(library, "cublasGemmEx");

  static void check(int status, const char* name) {
    if (status == 0) return;
    throw DeviceError(std::string(name) + " failed with status " + std::to_string(status));
  }
};

const DirectCublas::Functions& DirectCublas::functions() {
  static const Functions all;
  return all;
}

DirectCublas::DirectCublas(const Stream& stream) {
  Functions::check(functions().create(&handle_), "cublasCreate");
  Functions::check(functions().set_stream(handle_, stream.get()), "cublasSetStream");
}

DirectCublas::~DirectCublas() { functions().destroy(handle_); }

void DirectCublas::sgemm(const Problem& p, const float* A, const float* B, float* C) const {
  const int m = static_cast<int>(p.N), n = static_cast<int>(p.M), k = static_cast<int>(p.K);
  const float one = 1, zero = 0;
  Functions::check(functions().sgemm(handle_, 0, 0, m, n, k, &one, B, m, A, k, &zero, C, m),
                   "cublasSgemm");
}

void DirectCublas::gemm_ex(const Problem& p, const float* A, const float* B, float* C) const {
  using namespace cublas_abi;
  const int m = static_cast<int>(p.N), n = static_cast<int>(p.M), k = static_cast<int>(p.K);
  const float one = 1, zero = 0;
  constexpr int kAnyAlgorithm = -1;
  Functions::check(
      functions().gemm_ex(handle_, 0, 0, m, n, k, &one, B, cublas_abi::data_type(ElementType{}), m,
                          A, cublas_abi::data_type(ElementType{}), k, &zero, C,
                          cublas_abi::data_type(ElementType{}), m, kComputeF32, kAnyAlgorithm),
      "cublasGemmEx");
}

SgemmWays::SgemmWays(gt_handle* handle, const Stream& stream, const Problem& problem)
    : handle_(handle),
      stream_(stream),
      problem_(problem),
      cublas_(stream),
      a_(random_matrix(problem.M * problem.K, 1)),
      b_(random_matrix(problem.K * problem.N, 2)),
      c_(static_cast<std::size_t>(problem.M * problem.N)) {}

void SgemmWays::gt_sgemm() const {
  check_status(::gt_sgemm(handle_, stream_.get(), GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE,
                          problem_.M, problem_.N, problem_.K, 1.0F, a_.data(), problem_.K,
                          b_.data(), problem_.N, 0.0F, c_.data(), problem_.N));
}

void SgemmWays::gt_gemm() const {
  const gt_gemm_call call = gemm_call();
  check_status(::gt_gemm(handle_, stream_.get(), &call));
}

gt_recipe SgemmWays::recipe() const {
  const gt_gemm_call call = gemm_call();
  gt_recipe recipe{};
  check_status(gt_lookup(handle_, nullptr, &call, &recipe));
  return recipe;
}

gt_gemm_call SgemmWays::gemm_call() const {
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  call.M = problem_.M;
  call.N = problem_.N;
  call.K = problem_.K;
  call.A = a_.data();
  call.B = b_.data();
  call.C = call.D = c_.data();
  call.lda = problem_.K;
  call.ldb = call.ldc = problem_.N;
  return call;
}

GemmCall SgemmWays::call() const {
  GemmCall call = in_place(packed_call(problem_), a_.data(), b_.data(), c_.data());
  call.problem = problem_of(call);
  return call;
}

void check_close(const std::vector<float>& result, const std::vector<float>& other, std::int64_t K,
                 const std::string& way) {
  const double allowed = 2 * static_cast<double>(K + 8) * 0x1p-24 * static_cast<double>(K);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double off = std::abs(static_cast<double>(result[i]) - static_cast<double>(other[i]));
    if (!(off <= allowed)) {
      throw Error(fmt::format("element {} by {} is {}, not {}", i, way, result[i], other[i]));
    }
  }
}

std::string run_description(int argc, char** argv) {
  const DeviceSpec device = query_device(current_device());
  int runtime = 0;
  GT_CUDA(cudaRuntimeGetVersion(&runtime));
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i > 0 ? " " : "") + std::string(argv[i]);
  return fmt::format("{}, {} SMs, driver {}, CUDA {}.{}, cuBLAS {}\ncommand: {}\n", device.name,
                     device.sm_count, driver_version().value_or("unknown"), runtime / 1000,
                     runtime % 1000 / 10, Cublas().version(), command);
}

}  // namespace gemm_tune
