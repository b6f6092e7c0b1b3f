// SPDX-License-Identifier: Apache-2.0
// Measures cublasSgemm's speed without any code of gemm-tune: a check of gemm-tune's baseline.
//
// One line: g++ -std=c++17 -O2 bench/results/independent_sgemm.cpp -o independent_sgemm
//   -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -Wl,-rpath,/usr/local/cuda/lib64 -lcudart
//   ./independent_sgemm 512 4096x512x1024
//
// prints "M N K hot_us cold_us" for each size; row-major, packed, alpha 1, beta 0, uniform random
// operands. The method is simple: a CUDA graph of some hundred calls is replayed back to back for
// at least 300 ms between two events, after a warm-up of the same length; the result is the median
// of five such means. Cold: successive calls use successive copies of A, B and C, which together
// exceed four times L2.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

// cuBLAS is opened at run time and its few functions are declared here: its header and its library
// are not on every machine that builds this. Enumerations are int in C.
using Create = int(void** handle);
using SetStream = int(void* handle, cudaStream_t);
using Sgemm = int(void* handle, int, int, int m, int n, int k, const float* alpha, const float* a,
                  int lda, const float* b, int ldb, const float* beta, float* c, int ldc);

#define CHECK(call)                                                                    \
  if (const int status = static_cast<int>(call); status != 0) {                        \
    std::fprintf(stderr, "%s:%d: %s failed: %d\n", __FILE__, __LINE__, #call, status); \
    std::exit(1);                                                                      \
  }

static void *cublas, *handle;
static cudaStream_t stream;

template <class Function>
static Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(cublas, name));
}

static float* random_matrix(std::size_t count) {
  static std::mt19937 random(1);
  std::vector<float> host(count);
  for (float& x : host) x = static_cast<float>(random()) * 0x1p-31F - 1;
  float* device = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&device), 4 * count));
  CHECK(cudaMemcpy(device, host.data(), 4 * count, cudaMemcpyHostToDevice));
  return device;
}

// Mean time of one call in microseconds, call i on copy i mod `copies`.
static double time_us(int M, int N, int K, std::size_t copies) {
  std::vector<float*> A, B, C;
  for (std::size_t i = 0; i < copies; ++i) {
    A.push_back(random_matrix(std::size_t(M) * std::size_t(K)));
    B.push_back(random_matrix(std::size_t(K) * std::size_t(N)));
    C.push_back(random_matrix(std::size_t(M) * std::size_t(N)));
  }
  const float alpha = 1, beta = 0;
  const std::size_t calls = (199 / copies + 1) * copies;  // whole rotations
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  const auto sgemm = find<Sgemm>("cublasSgemm_v2");
  CHECK(sgemm(handle, 0, 0, N, M, K, &alpha, B[0], N, A[0], K, &beta, C[0], N));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (std::size_t i = 0; i < calls; ++i) {
    const std::size_t k = i % copies;  // column-major: C^T = B^T A^T
    CHECK(sgemm(handle, 0, 0, N, M, K, &alpha, B[k], N, A[k], K, &beta, C[k], N));
  }
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&replay, graph, 0));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  const auto run_ms = [&](int replays) {
    float ms = 0;
    CHECK(cudaEventRecord(start, stream));
    for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(stop, stream));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    return ms;
  };
  run_ms(1);
  const int replays = static_cast<int>(std::ceil(300 / run_ms(1)));
  run_ms(replays);
  std::vector<float> runs(5);
  for (float& ms : runs) ms = run_ms(replays);
  std::sort(runs.begin(), runs.end());
  CHECK(cudaGraphExecDestroy(replay));
  CHECK(cudaGraphDestroy(graph));
  for (const auto& matrices : {A, B, C}) {
    for (float* matrix : matrices) CHECK(cudaFree(matrix));
  }
  return 1000.0 * runs[2] / replays / static_cast<double>(calls);
}

int main(int argc, char** argv) {
  cublas = dlopen("libcublas.so.13", RTLD_NOW);
  if (cublas == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  CHECK(find<Create>("cublasCreate_v2")(&handle));
  CHECK(cudaStreamCreate(&stream));
  CHECK(find<SetStream>("cublasSetStream_v2")(handle, stream));
  int l2_bytes = 0;
  CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
  std::printf("M N K hot_us cold_us\n");
  for (int i = 1; i < argc; ++i) {
    int M = 0, N = 0, K = 0;
    if (std::sscanf(argv[i], "%dx%dx%d", &M, &N, &K) != 3) M = N = K = std::atoi(argv[i]);
    const double bytes = 4.0 * (double(M) * K + double(K) * N + double(M) * N);
    const auto copies = std::clamp<std::size_t>(std::size_t(4.0 * l2_bytes / bytes) + 1, 2, 10000);
    std::printf("%d %d %d %.3f %.3f\n", M, N, K, time_us(M, N, K, 1), time_us(M, N, K, copies));
    std::fflush(stdout);
  }
}
