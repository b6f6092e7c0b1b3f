// SPDX-License-Identifier: Apache-2.0
// multiply FOLDER: products by a bundle's kernels on the first GPU, held against the CPU's. Built
// beside the bundle, with nothing else of gemm-tune and no CUDA headers; linked with the driver.
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "gemm_tune_bundle.hpp"
#include "gemm_tune_sm_90.h"

extern "C" {  // of cuda.h
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes);
int cuMemFree_v2(std::uint64_t memory);
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes);
}

static void require(int code) {
  if (code != 0) throw std::runtime_error("CUDA's error " + std::to_string(code));
}

// A matrix in GPU memory.
class Matrix {
 public:
  explicit Matrix(const std::vector<float>& values) : bytes_(values.size() * sizeof(float)) {
    require(cuMemAlloc_v2(&memory_, bytes_));
    require(cuMemcpyHtoD_v2(memory_, values.data(), bytes_));
  }
  ~Matrix() { cuMemFree_v2(memory_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  void* data() const { return reinterpret_cast<void*>(memory_); }

  std::vector<float> values() const {
    std::vector<float> values(bytes_ / sizeof(float));
    require(cuMemcpyDtoH_v2(values.data(), memory_, bytes_));
    return values;
  }

 private:
  std::uint64_t memory_ = 0;
  std::size_t bytes_;
};

// Small integers, whose products and sums are exact.
static std::vector<float> integers(long long count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(seed)) % 5) - 2;
  }
  return values;
}

template <class Problem>
static bool is_right(gemm_tune_bundle::Bundle& bundle, const Problem& p) {
  const std::vector<float> a = integers(p.M * p.K, 1), b = integers(p.K * p.N, 2);
  const std::vector<float> c = integers(p.M * p.N, 3);
  const Matrix A(a), B(b), C(c);
  bundle.gemm(p, {2, A.data(), p.K, B.data(), p.N, 3, C.data(), p.N}, nullptr);
  const std::vector<float> product = C.values();  // waits for the default stream
  for (long long row = 0; row < p.M; ++row) {
    for (long long column = 0; column < p.N; ++column) {
      float sum = 0;
      for (long long k = 0; k < p.K; ++k) {
        sum += a[static_cast<std::size_t>(row * p.K + k)] *
               b[static_cast<std::size_t>(k * p.N + column)];
      }
      const auto at = static_cast<std::size_t>(row * p.N + column);
      if (product[at] != 2 * sum + 3 * c[at]) return false;
    }
  }
  const auto found = lookup(p);
  std::printf("%lldx%lldx%lld by %s\n", p.M, p.N, p.K, found.kernel->config);
  return true;
}

template <class Problem>
static bool all_are_right(gemm_tune_bundle::Bundle& bundle) {
  bool right = true;
  for (const Problem& sizes : {Problem{256, 256, 256}, Problem{250, 252, 260},
                               Problem{100, 77, 300}, Problem{64, 64, 4096}}) {
    // By the leading dimensions of packed matrices. Their addresses are multiples of 256 bytes.
    const Problem problem = aligned_by(sizes, sizes.K, sizes.N, sizes.N);
    right = is_right(bundle, problem) && right;
  }
  return right;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    void* context = nullptr;
    require(cuInit(0));
    require(cuDevicePrimaryCtxRetain(&context, 0));
    require(cuCtxSetCurrent(context));
    gemm_tune_bundle::Bundle bundle(argv[1]);
    bool right = false;
    if (bundle.arch() == "sm_90") right = all_are_right<gemm_tune_sm_90::Problem>(bundle);
    if (!right) std::fprintf(stderr, "wrong on %s\n", bundle.arch().c_str());
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
