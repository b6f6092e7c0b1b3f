// The arguments of one gt_sgemm call: what is wrong with them, and which problem they are.
//
// Pure; any thread.
#pragma once

#include <cstdint>

#include "core/problem.h"

namespace gemm_tune {

// C = alpha * A * B + beta * C, row-major, leading dimensions in elements.
struct SgemmCall {
  std::int64_t M = 0, N = 0, K = 0;
  float alpha = 1;
  const float* A = nullptr;
  std::int64_t lda = 0;
  const float* B = nullptr;
  std::int64_t ldb = 0;
  float beta = 0;
  float* C = nullptr;
  std::int64_t ldc = 0;
};

// Throws UsageError naming the first argument that is out of range, null or not aligned to floats.
void check(const SgemmCall& call);

// Whether C stays as it is by BLAS's rules: M or N is 0, or beta is 1 and K or alpha is 0.
bool changes_nothing(const SgemmCall& call);

// With the alignment class of the call's leading dimensions and addresses. Precondition: checked,
// M and N not 0.
Problem problem_of(const SgemmCall& call);

}  // namespace gemm_tune
