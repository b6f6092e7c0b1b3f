// SPDX-License-Identifier: Apache-2.0
// libcublas.so.13 for programs on a machine without a GPU: cublasSgemm multiplies on the CPU, in
// memory that the fake driver of a bundle's tests gives. The state of a handle is cuBLAS's default.
extern "C" {

int cublasCreate_v2(void** handle) {
  static int only = 0;
  *handle = &only;
  return 0;
}

int cublasGetStream_v2(void*, void** stream) {
  *stream = nullptr;
  return 0;
}

int cublasGetPointerMode_v2(void*, int* value) { return *value = 0; }
int cublasGetMathMode(void*, int* value) { return *value = 0; }
int cublasGetSmCountTarget(void*, int* value) { return *value = 0; }

// Of untransposed operands, without a C that is added.
int cublasSgemm_v2(void*, int op_a, int op_b, int m, int n, int k, const float* alpha,
                   const float* A, int lda, const float* B, int ldb, const float* beta, float* C,
                   int ldc) {
  if (op_a != 0 || op_b != 0 || *beta != 0) return 15;  // CUBLAS_STATUS_NOT_SUPPORTED
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < m; ++row) {
      float sum = 0;
      for (int i = 0; i < k; ++i) sum += A[row + i * lda] * B[i + column * ldb];
      C[row + column * ldc] = *alpha * sum;
    }
  }
  return 0;
}
}
