// SPDX-License-Identifier: Apache-2.0
// What a gt_prepared is: the copy of an operand that calls take in place of one of their own, and
// where the operand was.
//
// The host cannot see whether an operand's values are still those that were prepared. It sees
// whether a call has the operand elsewhere, or another one, and refuses that. Use one object from
// one thread at a time, but for calls with it.
#pragma once

#include <cstdint>

#include "core/problem/gemm_call.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"
#include "gpu/launch/memory.h"

namespace gemm_tune {

// A or B of a row-major call, in terms that are the same for both: lines are the rows of op(A) or
// the columns of op(B).
struct OperandPlace {
  int ordinal = 0;  // of the device
  Accuracy accuracy{};
  ElementType type{};
  const void* address = nullptr;
  std::int64_t lines = 0, K = 0, batch = 0;
  bool lies_along_k = false;
  std::int64_t ld = 0, stride = 0;  // stride: 0 unless it is a batch

  friend bool operator==(const OperandPlace&, const OperandPlace&) = default;
};

// Of which a gt_operand of a call is A in row-major terms.
bool is_a_row_major(gt_operand operand, gt_order order);

// Precondition: call is row_major_call() of one in this order.
OperandPlace place_of(gt_operand operand, gt_order order, const GemmCall& call, int ordinal);

// Throws UsageError where nothing can be prepared of the operand, whatever the device: it has no
// elements or address, lies in a batch of pointers, or of more matrices than one launch takes.
void check_preparable(gt_operand operand, const OperandPlace& place, const GemmCall& call);

// Throws UsageError with the first thing that a call's operand has unlike the prepared one.
void check_same_place(gt_operand operand, const OperandPlace& prepared, const OperandPlace& called);

// The same for an object that is prepared anew: only what its size follows from, and the device.
void check_same_size(const OperandPlace& prepared, const OperandPlace& anew);

struct PreparedOperand {
  OperandPlace place;
  DeviceBuffer<char> copy;  // LaunchPlan::that_makes()
};

// Has the row-major call take the copies that the asked one names. Throws UsageError where they are
// of other operands.
void take_prepared(const gt_gemm_call& asked, int ordinal, GemmCall& call);

}  // namespace gemm_tune

struct gt_prepared {
  gemm_tune::PreparedOperand operand;
};
