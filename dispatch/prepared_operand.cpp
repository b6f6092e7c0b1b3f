// SPDX-License-Identifier: Apache-2.0
#include "dispatch/prepared_operand.h"

#include <string>

#include "core/error.h"
#include "core/launch/launch_arithmetic.h"

namespace gemm_tune {
namespace {

// Names of the operand, its lines' count, its leading dimension, its stride and its field.
struct Names {
  const char *operand, *lines, *ld, *stride, *prepared;
};

Names names_of(gt_operand operand) {
  if (operand == GT_OPERAND_A) return {"A", "M", "lda", "stride_a", "call.prepared_a"};
  return {"B", "N", "ldb", "stride_b", "call.prepared_b"};
}

void check_equal(const std::string& who, const char* what, std::int64_t prepared,
                 std::int64_t called) {
  if (prepared == called) return;
  throw UsageError(who + " was prepared with " + what + " = " + std::to_string(prepared) +
                   ", and the call has " + std::to_string(called));
}

void check_size(const std::string& who, const char* lines, const OperandPlace& prepared,
                const OperandPlace& called) {
  if (prepared.ordinal != called.ordinal) {
    throw UsageError(who + " is on device " + std::to_string(prepared.ordinal) +
                     ", and the current device is " + std::to_string(called.ordinal));
  }
  if (prepared.accuracy != called.accuracy) {
    throw UsageError(who + " is of the accuracy class " +
                     std::string(to_string(prepared.accuracy)) + ", and the call of " +
                     std::string(to_string(called.accuracy)));
  }
  if (prepared.type != called.type) {
    throw UsageError(who + " is of " + std::string(to_string(prepared.type)) +
                     ", and the call's operand of " + std::string(to_string(called.type)));
  }
  check_equal(who, lines, prepared.lines, called.lines);
  check_equal(who, "K", prepared.K, called.K);
  check_equal(who, "batch", prepared.batch, called.batch);
}

}  // namespace

bool is_a_row_major(gt_operand operand, gt_order order) {
  return (operand == GT_OPERAND_A) == (order == GT_ROW_MAJOR);
}

OperandPlace place_of(gt_operand operand, gt_order order, const GemmCall& call, int ordinal) {
  const Problem& p = call.problem;
  const bool is_a = is_a_row_major(operand, order);
  OperandPlace place;
  place.ordinal = ordinal;
  place.accuracy = p.signature.accuracy;
  place.type = is_a ? p.signature.a : p.signature.b;
  place.address = is_a ? call.A : call.B;
  place.lines = is_a ? p.M : p.N;
  place.K = p.K;
  place.batch = p.batch;
  place.lies_along_k = is_a ? !transposes_a(p.layout) : transposes_b(p.layout);
  place.ld = is_a ? call.lda : call.ldb;
  if (p.batch > 1) place.stride = is_a ? call.stride_a : call.stride_b;
  return place;
}

void check_preparable(gt_operand operand, const OperandPlace& place, const GemmCall& call) {
  const Names names = names_of(operand);
  if (place.lines == 0 || place.K == 0 || place.batch == 0) {
    throw UsageError(std::string(names.operand) + " has no elements to prepare: " + names.lines +
                     ", K or batch is 0");
  }
  if (place.address == nullptr) throw UsageError(std::string(names.operand) + " is NULL");
  if (call.problem.batch_kind != BatchKind::strided) {
    throw UsageError("batch_kind is GT_POINTERS: operands are prepared of strided batches");
  }
  if (place.batch > kMaxBatch) {
    throw UsageError("batch is " + std::to_string(place.batch) + ": operands of at most " +
                     std::to_string(kMaxBatch) + " matrices are prepared");
  }
}

void check_same_place(gt_operand operand, const OperandPlace& prepared,
                      const OperandPlace& called) {
  const Names names = names_of(operand);
  check_size(names.prepared, names.lines, prepared, called);
  if (prepared.address != called.address) {
    throw UsageError(std::string(names.prepared) +
                     " was prepared of a matrix at another address than " + names.operand + "'s");
  }
  if (prepared.lies_along_k != called.lies_along_k) {
    throw UsageError(std::string(names.prepared) + " was prepared of a matrix that is stored by " +
                     "rows where the call's is by columns, or the other way round");
  }
  check_equal(names.prepared, names.ld, prepared.ld, called.ld);
  check_equal(names.prepared, names.stride, prepared.stride, called.stride);
}

void check_same_size(const OperandPlace& prepared, const OperandPlace& anew) {
  check_size("*prepared", "M or N", prepared, anew);
}

void take_prepared(const gt_gemm_call& asked, int ordinal, GemmCall& call) {
  const auto take = [&](gt_operand operand, const gt_prepared* prepared) {
    if (prepared == nullptr) return;
    check_same_place(operand, prepared->operand.place,
                     place_of(operand, asked.order, call, ordinal));
    const void* const copy = prepared->operand.copy.data();
    (is_a_row_major(operand, asked.order) ? call.kept_a : call.kept_b) = copy;
  };
  take(GT_OPERAND_A, asked.prepared_a);
  take(GT_OPERAND_B, asked.prepared_b);
}

}  // namespace gemm_tune
