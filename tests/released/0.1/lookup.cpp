// SPDX-License-Identifier: Apache-2.0
// lookup_cpp DATABASE: which kernel serves C[1000,1004] = A[1000,1020] * B[1020,1004] on an RTX
// 3090?
#include <gemm_tune/gemm_tune.hpp>
#include <iostream>

// C = A * B, all three row-major in GPU memory.
static void multiply(gemm_tune::Handle& handle, CUstream_st* stream, std::int64_t M, std::int64_t N,
                     std::int64_t K, const float* A, std::int64_t lda, const float* B,
                     std::int64_t ldb, float* C, std::int64_t ldc) {
  gt_gemm_call call = gemm_tune::make_call(M, N, K);
  call.A = A;
  call.lda = lda;
  call.B = B;
  call.ldb = ldb;
  call.D = C;
  call.ldc = ldc;
  handle.gemm(stream, call);
}

// As attention multiplies queries with keys: S = Q * K^T for each of `heads`, all packed.
static void multiply_all(gemm_tune::Handle& handle, CUstream_st* stream, std::int64_t heads,
                         std::int64_t rows, std::int64_t depth, const float* Q, const float* K,
                         float* S) {
  gt_gemm_call call = gemm_tune::make_call(rows, rows, depth);
  call.trans_b = GT_TRANSPOSE;
  call.batch = heads;
  call.A = Q;
  call.B = K;
  call.D = S;
  handle.gemm(stream, call);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    gemm_tune::Handle handle(argv[1]);
    const gt_device device = {"sm_86", "NVIDIA GeForce RTX 3090", 82};
    const gt_gemm_call call = gemm_tune::make_call(1000, 1004, 1020);
    const gt_recipe recipe = handle.lookup(device, call);  // handle.explain(device, call): why
    std::cout << recipe.config << '\n'
              << gt_match_string(recipe.match) << " match, " << gt_source_string(recipe.source)
              << ": " << handle.explain(device, call) << '\n'
              << "A at multiples of " << recipe.align_a << " bytes, B of " << recipe.align_b
              << ", D of " << recipe.align_d << '\n';
    // Without a row or a head there is nothing to do, and so no need for a GPU.
    multiply(handle, nullptr, 0, 1004, 1020, nullptr, 1020, nullptr, 1004, nullptr, 1004);
    multiply_all(handle, nullptr, 0, 128, 64, nullptr, nullptr, nullptr);
  } catch (const gemm_tune::StatusError& error) {
    std::cerr << gt_status_string(error.status()) << ": " << error.what() << '\n';
    return 1;
  }
}
