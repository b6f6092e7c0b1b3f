// SPDX-License-Identifier: Apache-2.0
#include "python/binding/problem_text.h"

#include "core/gemm_call.h"
#include "dispatch/checked_call.h"

namespace gemm_tune {
namespace {

ElementType element_type(gt_type type) {
  return type == GT_F32 ? ElementType::f32 : type == GT_F16 ? ElementType::f16 : ElementType::bf16;
}

}  // namespace

std::string problem_text(const gt_gemm_call& call) {
  GemmCall product;
  Problem& problem = product.problem;
  problem.signature = signature_of(element_type(call.type_a), element_type(call.type_d));
  problem.M = call.M;
  problem.N = call.N;
  problem.K = call.K;
  problem.layout = layout_of(call.trans_a == GT_TRANSPOSE, call.trans_b == GT_TRANSPOSE);
  problem.batch = call.batch;
  product.A = call.A;
  product.B = call.B;
  product.C = product.D = call.D;  // C is not read
  product.lda = call.lda;
  product.ldb = call.ldb;
  product.ldc = call.ldc;
  product.stride_a = call.stride_a;
  product.stride_b = call.stride_b;
  product.stride_c = call.stride_c;
  const Order order = call.order == GT_COLUMN_MAJOR ? Order::column_major : Order::row_major;
  return to_string(key_of(problem_of(in_row_major(product, order))));
}

}  // namespace gemm_tune
