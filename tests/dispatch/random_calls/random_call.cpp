// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/random_calls/random_call.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "dispatch/c_values.h"

namespace gemm_tune {
namespace {

ElementType element_type(gt_type type) { return element_type_of("type", type); }

// alignment: the class of leading dimension, address and stride, at least. ld, stride: of another
// operand, which has the same; 0: to be drawn. is_result: entries must not overlap.
Operand draw_operand(Random& random, const DrawingRule& rule, gt_type type, std::int64_t rows,
                     std::int64_t cols, bool by_rows, std::int64_t batch, int alignment,
                     bool is_result, const Operand* like = nullptr) {
  const auto aligned = [&](std::int64_t x) { return (x + alignment - 1) / alignment * alignment; };
  const std::int64_t lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
  Operand x;
  x.type = type;
  x.ld = aligned(std::max<std::int64_t>(length, 1) + (random.once_in(2) ? random.from(0, 9) : 0));
  x.stride = aligned(lines * x.ld + (random.once_in(2) ? random.from(0, 40) : 0));
  if (batch > 1 && random.once_in(4)) {  // side by side in the same rows
    x.stride = aligned(std::max<std::int64_t>(length, 1));
    x.ld = aligned(batch * x.stride + random.from(0, 9));
  } else if (batch > 1 && !is_result && random.once_in(4)) {
    x.stride = 0;  // one for all
  }
  if (like != nullptr) {
    x.ld = like->ld;
    x.stride = like->stride;
  }
  x.offset = aligned(rule.margin + random.from(0, 3));
  const std::int64_t used =
      lines * length == 0 ? 0 : (batch - 1) * x.stride + (lines - 1) * x.ld + length;
  x.cells = x.offset + used + rule.margin;
  x.matrix = {nullptr,
              rows,
              cols,
              by_rows ? x.ld : 1,
              by_rows ? 1 : x.ld,
              batch > 1 ? x.stride : 0,
              batch > 1 && x.stride == 0 ? 1 : batch,
              static_cast<int>(type)};
  return x;
}

void draw_types(Random& random, RandomCall& call, gt_type& operands, gt_type& results) {
  operands = random.one_of({GT_F32, GT_F32, GT_F16, GT_BF16});
  results = random.once_in(3) ? GT_F32 : operands;
  call.separate_c = random.once_in(3);
  call.has_bias = random.once_in(3);
  call.has_relu = call.has_bias && random.once_in(2);
}

void draw_sizes(Random& random, const DrawingRule& rule, RandomCall& call) {
  call.batch = random.once_in(3) ? random.from(2, 9) : 1;
  if (random.once_in(60)) call.batch = 0;
  do {
    call.M = random.once_in(60) ? 0 : random.edge(2000);
    call.N = random.once_in(60) ? 0 : random.edge(2000);
    call.K = random.once_in(40) ? 0 : random.edge(16000);
  } while (static_cast<double>(call.M * call.N) *
               static_cast<double>(std::max<std::int64_t>(call.K, 1) *
                                   std::max<std::int64_t>(call.batch, 1)) >
           rule.most_multiplications);
}

void draw_scalars(Random& random, RandomCall& call) {
  call.whole_numbers = random.once_in(2);
  // Random scalars round, and so do their products with whole numbers.
  const float any = call.whole_numbers ? 3.0F : random.scalar();
  call.alpha = random.one_of({1.0F, 1.0F, 0.0F, -0.0F, -1.0F, 2.0F, any});
  call.beta = random.one_of({0.0F, 0.0F, -0.0F, 1.0F, -1.0F, 0.5F, any});
  call.no_operands = (call.alpha == 0 || call.K == 0) && random.once_in(2);
}

char letter(gt_transpose trans) { return trans == GT_TRANSPOSE ? 't' : 'n'; }

std::string_view name_of(gt_type type) { return to_string(element_type(type)); }

}  // namespace

std::int64_t Random::edge(double most) {
  const double size = std::exp2(std::uniform_real_distribution<>(0, std::log2(most))(engine_));
  const auto edge = static_cast<std::int64_t>(size);
  return once_in(3) ? std::max<std::int64_t>(edge / 64 * 64, 64) : edge;
}

void* Operand::first_at(void* buffer) const {
  return static_cast<char*>(buffer) + offset * type_bytes(matrix.type);
}

Matrix Operand::matrix_at(void* buffer) const {
  Matrix placed = matrix;
  placed.data = first_at(buffer);
  return placed;
}

Epilogue RandomCall::epilogue() const {
  if (!has_bias) return {};
  const Epilogue of_rows = *find_epilogue(has_relu ? "bias_column+relu" : "bias_column");
  return order == GT_ROW_MAJOR ? of_rows : of_rows.transposed();
}

Signature RandomCall::signature() const {
  return signature_of(element_type(A.type), element_type(D.type));
}

RandomCall random_call(const DrawingRule& rule, std::uint64_t number) {
  Random random(rule.seed, number);
  RandomCall call;
  gt_type operands = GT_F32, results = GT_F32;
  draw_types(random, call, operands, results);
  call.order = random.one_of({GT_ROW_MAJOR, GT_COLUMN_MAJOR});
  call.trans_a = random.one_of({GT_NO_TRANSPOSE, GT_TRANSPOSE});
  call.trans_b = random.one_of({GT_NO_TRANSPOSE, GT_TRANSPOSE});
  draw_sizes(random, rule, call);
  draw_scalars(random, call);
  call.captured = random.once_in(8);
  call.default_stream = !call.captured && random.once_in(4);
  const int alignment = random.one_of({1, 2, 4, operands == GT_F32 ? 4 : 8});
  const bool rows = call.order == GT_ROW_MAJOR;
  const std::int64_t batch = std::max<std::int64_t>(call.batch, 1);
  call.A = draw_operand(random, rule, operands, call.M, call.K,
                        rows == (call.trans_a == GT_NO_TRANSPOSE), batch, alignment, false);
  call.B = draw_operand(random, rule, operands, call.K, call.N,
                        rows == (call.trans_b == GT_NO_TRANSPOSE), batch, alignment, false);
  call.D = draw_operand(random, rule, results, call.M, call.N, rows, batch, alignment, true);
  if (call.separate_c) {
    call.C =
        draw_operand(random, rule, results, call.M, call.N, rows, batch, alignment, true, &call.D);
  }
  if (call.has_bias) {
    call.bias = draw_operand(random, rule, results, 1, rows ? call.N : call.M, true, 1, 1, false);
  }
  return call;
}

gt_gemm_call gemm_call_of(const RandomCall& call, const Buffers& buffers) {
  gt_gemm_call asked = GT_GEMM_CALL_INIT;
  asked.order = call.order;
  asked.trans_a = call.trans_a;
  asked.trans_b = call.trans_b;
  asked.type_a = asked.type_b = call.A.type;
  asked.type_c = asked.type_d = call.D.type;
  asked.M = call.M;
  asked.N = call.N;
  asked.K = call.K;
  asked.batch = call.batch;
  asked.alpha = static_cast<double>(call.alpha);
  asked.beta = static_cast<double>(call.beta);
  asked.A = call.no_operands ? nullptr : call.A.first_at(buffers.A);
  asked.B = call.no_operands ? nullptr : call.B.first_at(buffers.B);
  asked.D = call.D.first_at(buffers.D);
  asked.C = call.separate_c ? call.C.first_at(buffers.C) : asked.D;
  asked.lda = call.A.ld;
  asked.ldb = call.B.ld;
  asked.ldc = call.D.ld;
  asked.stride_a = call.A.stride;
  asked.stride_b = call.B.stride;
  asked.stride_c = call.D.stride;
  asked.epilogue = call.epilogue().bits();
  if (call.has_bias) asked.operands[0] = call.bias.first_at(buffers.bias);
  return asked;
}

std::string text_of(const RandomCall& c) {
  return fmt::format(
      "{} to {}, {} {}{} {}x{}x{} batch {} lda {} ldb {} ldc {} alpha {} beta {}{}{}{}{}{}{}",
      name_of(c.A.type), name_of(c.D.type), c.order == GT_ROW_MAJOR ? "row-major" : "column-major",
      letter(c.trans_a), letter(c.trans_b), c.M, c.N, c.K, c.batch, c.A.ld, c.B.ld, c.D.ld, c.alpha,
      c.beta,
      c.has_relu   ? ", bias and ReLU"
      : c.has_bias ? ", bias"
                   : "",
      c.separate_c ? ", C of its own" : "", c.whole_numbers ? ", whole numbers" : "",
      c.captured ? ", captured" : "", c.default_stream ? ", default stream" : "",
      c.no_operands ? ", A and B NULL" : "");
}

}  // namespace gemm_tune
