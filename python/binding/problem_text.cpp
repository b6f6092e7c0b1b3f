// SPDX-License-Identifier: Apache-2.0
#include "python/binding/problem_text.h"

#include "core/gemm_call.h"
#include "dispatch/c_values.h"
#include "dispatch/checked_call.h"

namespace gemm_tune {

std::string problem_text(const gt_gemm_call& call) {
  GemmCall product;
  Problem& problem = product.problem;
  problem.signature = signature_of(element_type_of("call", "type_a", call.type_a),
                                   element_type_of("call", "type_d", call.type_d));
  problem.M = call.M;
  problem.N = call.N;
  problem.K = call.K;
  problem.layout =
      layout_of(transposes("call.trans_a", call.trans_a), transposes("call.trans_b", call.trans_b));
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
  return to_string(key_of(problem_of(in_row_major(product, order_of("call.order", call.order)))));
}

}  // namespace gemm_tune
