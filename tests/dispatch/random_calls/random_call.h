// SPDX-License-Identifier: Apache-2.0
// A random call of the library, and where its matrices lie in their buffers. Pure; a seed and the
// number of a call determine it.
#pragma once

#include <gemm_tune/gemm_tune.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "core/problem/gemm_call.h"
#include "tests/dispatch/random_calls/gemm_checks.h"

namespace gemm_tune {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t call) : engine_(seed * 1000003 + call) {}

  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool once_in(int n) { return from(1, n) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  // Mostly small, with whole tiles among them.
  std::int64_t edge(double most);
  float scalar() { return std::uniform_real_distribution<float>(-2.0F, 2.0F)(engine_); }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// How calls are drawn.
struct DrawingRule {
  std::uint64_t seed = 1;
  double most_multiplications = 16e6;
  std::int64_t margin = 64;  // guards before and behind a buffer's matrices
};

// A batch of matrices of rows x cols as op() leaves them, in a buffer with guards.
struct Operand {
  gt_type type = GT_F32;
  std::int64_t ld = 0, stride = 0;  // the call's
  std::int64_t offset = 0;          // of the first element
  std::int64_t cells = 0;           // of the buffer
  Matrix matrix;                    // without data

  Cells cells_at(void* buffer) const { return {buffer, cells, matrix.type}; }
  void* first_at(void* buffer) const;
  Matrix matrix_at(void* buffer) const;
};

struct RandomCall {
  gt_order order = GT_ROW_MAJOR;
  gt_transpose trans_a = GT_NO_TRANSPOSE, trans_b = GT_NO_TRANSPOSE;
  std::int64_t M = 0, N = 0, K = 0, batch = 1;
  float alpha = 1, beta = 0;
  bool has_bias = false, has_relu = false;  // ReLU of the bias
  bool separate_c = false, whole_numbers = false, captured = false, default_stream = false,
       no_operands = false;
  Operand A, B, C, D, bias;  // C: only where it is separate; bias: only with an epilogue

  Signature signature() const;
  // The bias is one for each element of a stored row (column-major: column) of D.
  Epilogue epilogue() const;
  // Whether anything is multiplied or written.
  bool is_empty() const { return M == 0 || N == 0 || batch == 0; }
};

// The buffers of A, B, C, D and bias; nullptr where the call has none.
struct Buffers {
  void *A = nullptr, *B = nullptr, *C = nullptr, *D = nullptr, *bias = nullptr;
};

RandomCall random_call(const DrawingRule& rule, std::uint64_t number);

// The call on these buffers. Their addresses must be multiples of 16 bytes.
gt_gemm_call gemm_call_of(const RandomCall& call, const Buffers& buffers);

std::string text_of(const RandomCall& call);

}  // namespace gemm_tune
