// The one argument of every GEMM kernel: C = alpha * A * B + beta * C, row-major, ld in elements.
//
// Read by NVRTC, the emulator and the host that launches; the layout is the same for all three.
#pragma once

namespace gemm_tune {

struct GemmArgs {
  int M, N, K;
  float alpha, beta;
  const float* A;  // [M, K], lda >= K
  const float* B;  // [K, N], ldb >= N
  float* C;        // [M, N], ldc >= N; not read where beta is 0
  long long lda, ldb, ldc;
};

}  // namespace gemm_tune
