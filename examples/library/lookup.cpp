// SPDX-License-Identifier: Apache-2.0
// lookup_cpp DATABASE: which kernel serves C[1000,1004] = A[1000,1020] * B[1020,1004] on an RTX
// 3090?
#include <gemm_tune/gemm_tune.hpp>
#include <iostream>

// C = A * B, all three row-major in GPU memory.
static void multiply(gemm_tune::Handle& handle, CUstream_st* stream, std::int64_t M, std::int64_t N,
                     std::int64_t K, const float* A, std::int64_t lda, const float* B,
                     std::int64_t ldb, float* C, std::int64_t ldc) {
  handle.sgemm(stream, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_NO_TRANSPOSE, M, N, K, 1.0f, A, lda, B,
               ldb, 0.0f, C, ldc);
}

// As attention multiplies queries with keys: S = Q * K^T for each of `heads`, all packed.
static void multiply_all(gemm_tune::Handle& handle, CUstream_st* stream, std::int64_t heads,
                         std::int64_t rows, std::int64_t depth, const float* Q, const float* K,
                         float* S) {
  handle.sgemm_strided_batched(stream, GT_ROW_MAJOR, GT_NO_TRANSPOSE, GT_TRANSPOSE, rows, rows,
                               depth, 1.0f, Q, depth, rows * depth, K, depth, rows * depth, 0.0f, S,
                               rows, rows * rows, heads);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    gemm_tune::Handle handle(argv[1]);
    const gt_device device = {"sm_86", "NVIDIA GeForce RTX 3090", 82, {}};
    const gt_recipe recipe = handle.lookup(device, gemm_tune::make_problem(1000, 1004, 1020));
    std::cout << recipe.config << '\n'
              << gt_match_string(recipe.match) << " match, " << gt_source_string(recipe.source)
              << ": " << recipe.explanation << '\n'
              << recipe.grid[0] << " CTAs of " << recipe.block_threads << " threads, "
              << recipe.smem_bytes << " bytes of shared memory\n";
    // Without a row or a head there is nothing to do, and so no need for a GPU.
    multiply(handle, nullptr, 0, 1004, 1020, nullptr, 1020, nullptr, 1004, nullptr, 1004);
    multiply_all(handle, nullptr, 0, 128, 64, nullptr, nullptr, nullptr);
  } catch (const gemm_tune::StatusError& error) {
    std::cerr << gt_status_string(error.status()) << ": " << error.what() << '\n';
    return 1;
  }
}
