// SPDX-License-Identifier: Apache-2.0
#include "python/binding/calls.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <utility>

#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "python/binding/handle.h"
#include "python/binding/matmul.h"
#include "python/binding/operand.h"
#include "python/binding/prepare.h"
#include "python/binding/prepared_matrix.h"
#include "python/binding/problem_text.h"

namespace gemm_tune {

namespace nb = nanobind;

namespace {

nb::dict fields_of(const gt_gemm_call& call) {
  nb::dict fields;
  fields["M"] = call.M;
  fields["N"] = call.N;
  fields["K"] = call.K;
  fields["batch"] = call.batch;
  fields["column_major"] = call.order == GT_COLUMN_MAJOR;
  fields["trans_a"] = call.trans_a == GT_TRANSPOSE;
  fields["trans_b"] = call.trans_b == GT_TRANSPOSE;
  fields["lda"] = call.lda;
  fields["ldb"] = call.ldb;
  fields["ldc"] = call.ldc;
  fields["stride_a"] = call.stride_a;
  fields["stride_b"] = call.stride_b;
  fields["stride_c"] = call.stride_c;
  fields["A"] = reinterpret_cast<std::uintptr_t>(call.A);
  fields["B"] = reinterpret_cast<std::uintptr_t>(call.B);
  fields["D"] = reinterpret_cast<std::uintptr_t>(call.D);
  fields["bias"] = reinterpret_cast<std::uintptr_t>(call.operands[0]);
  fields["problem"] = problem_text(call);
  return fields;
}

}  // namespace

nb::list calls_of(nb::handle a, nb::handle b, nb::handle bias, nb::handle out,
                  nb::handle activation, nb::handle accuracy) {
  const RightOperand right(b, accuracy);
  Prepared prepared = prepare(a, right.array, bias, out, Memory::any);
  set_options(*prepared.product, activation, right.accuracy);
  nb::list calls;
  if (!prepared.product->is_empty()) {
    if (right.prepared != nullptr) prepared.product->set_prepared_b(right.prepared->get());
    prepared.product->for_each([&](const gt_gemm_call& call) { calls.append(fields_of(call)); });
  }
  return calls;
}

nb::object prepare_only(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  if (is_for_operator(a, b, bias, out)) raise("ArgumentError", "an operand requires grad");
  Prepared prepared = prepare(a, b, bias, out, Memory::any);
  return std::move(prepared.result);
}

nb::tuple c_call_of(nb::handle a, nb::handle b, nb::handle bias, nb::handle out) {
  const Prepared prepared = prepare(a, b, bias, out, Memory::of_cuda);
  const gt_gemm_call& call = prepared.product->first();
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(&gt_gemm),
                        reinterpret_cast<std::uintptr_t>(handle()),
                        reinterpret_cast<std::uintptr_t>(prepared.stream),
                        nb::bytes(reinterpret_cast<const char*>(&call), sizeof call));
}

}  // namespace gemm_tune
