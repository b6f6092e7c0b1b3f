// SPDX-License-Identifier: Apache-2.0
// The kernel that docs/family.md begins with: C = A * B, a 2D thread tile, whole tiles only.
constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;

extern "C" __global__ void gemm(const float* A, const float* B, float* C, int N, int K) {
  __shared__ float a_tile[BM][BK], b_tile[BK][BN];
  const int row = blockIdx.y * BM, col = blockIdx.x * BN;
  const int m = threadIdx.x / (BN / TN) * TM, n = threadIdx.x % (BN / TN) * TN;
  constexpr int kThreads = (BM / TM) * (BN / TN);
  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += kThreads)
      a_tile[i / BK][i % BK] = A[(row + i / BK) * K + k0 + i % BK];
    for (int i = threadIdx.x; i < BK * BN; i += kThreads)
      b_tile[i / BN][i % BN] = B[(k0 + i / BN) * N + col + i % BN];
    __syncthreads();
    for (int k = 0; k < BK; ++k)
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sum[i][j] += a_tile[m + i][k] * b_tile[k][n + j];
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) C[(row + m + i) * N + col + n + j] = sum[i][j];
}
