// SPDX-License-Identifier: Apache-2.0
// How much memory the matrices of a problem take. Any thread.
#pragma once

#include "core/problem/problem.h"

namespace gemm_tune {

inline double bytes_of_matrix(ElementType type, std::int64_t rows, std::int64_t columns) {
  return bytes_of(type) * static_cast<double>(rows) * static_cast<double>(columns);
}

// Of A and B of one product.
inline double operand_bytes(const Problem& problem) {
  return bytes_of_matrix(problem.signature.a, problem.M, problem.K) +
         bytes_of_matrix(problem.signature.b, problem.K, problem.N);
}

// Of D of one product.
inline double result_bytes(const Problem& problem) {
  return bytes_of_matrix(problem.signature.d, problem.M, problem.N);
}

// Of A, B and D of all products.
inline double matrix_bytes(const Problem& problem) {
  return static_cast<double>(problem.batch) * (operand_bytes(problem) + result_bytes(problem));
}

}  // namespace gemm_tune
