// SPDX-License-Identifier: Apache-2.0
// multiply: products by cuBLAS on the first GPU. It knows nothing of gemm-tune: `gemm-tune run --
// multiply` serves its calls. The functions are declared here to build without CUDA's headers.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

extern "C" {
// Of cuda.h.
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes);
int cuMemFree_v2(std::uint64_t memory);
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes);
// Of cublas_v2.h.
int cublasCreate_v2(void** handle);
int cublasSgemm_v2(void* handle, int trans_a, int trans_b, int m, int n, int k, const float* alpha,
                   const float* A, int lda, const float* B, int ldb, const float* beta, float* C,
                   int ldc);
}

// The square of a matrix of ones, some times: all its elements are n.
static bool multiply(void* cublas, int n, int times) {
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<float> values(count, 1);
  std::uint64_t ones = 0, square = 0;
  if (cuMemAlloc_v2(&ones, count * sizeof(float)) != 0 ||
      cuMemAlloc_v2(&square, count * sizeof(float)) != 0 ||
      cuMemcpyHtoD_v2(ones, values.data(), count * sizeof(float)) != 0) {
    return false;
  }
  const auto* const A = reinterpret_cast<const float*>(ones);
  auto* const C = reinterpret_cast<float*>(square);
  const float alpha = 1, beta = 0;
  bool right = true;
  for (int i = 0; i < times; ++i) {
    right = right && cublasSgemm_v2(cublas, 0, 0, n, n, n, &alpha, A, n, A, n, &beta, C, n) == 0;
  }
  right = right && cuMemcpyDtoH_v2(values.data(), square, count * sizeof(float)) == 0;
  for (const float value : values) right = right && value == static_cast<float>(n);
  cuMemFree_v2(ones);
  cuMemFree_v2(square);
  return right;
}

int main() {
  void *context = nullptr, *cublas = nullptr;
  if (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
      cuCtxSetCurrent(context) != 0 || cublasCreate_v2(&cublas) != 0) {
    std::fprintf(stderr, "no GPU, or no cuBLAS for it\n");
    return 1;
  }
  for (const int n : {64, 256}) {
    const bool right = multiply(cublas, n, 3);
    std::printf("%dx%dx%d: %s\n", n, n, n, right ? "right" : "wrong");
    if (!right) return 1;
  }
}
