// SPDX-License-Identifier: Apache-2.0
// Values of the C interface's enumerations as the library's own. Throws UsageError with the name of
// the field for a value that the interface does not have.
//
// Inline: each call of gt_gemm reads several. Pure; any thread.
#pragma once

#include <string>

#include "core/error.h"
#include "core/launch_arithmetic.h"
#include "dispatch/checked_call.h"
#include "dispatch/include/gemm_tune/gemm_tune.h"

namespace gemm_tune {

inline bool transposes(const char* name, gt_transpose value) {
  if (value != GT_NO_TRANSPOSE && value != GT_TRANSPOSE) {
    throw UsageError(std::string(name) + " is " + std::to_string(static_cast<int>(value)) +
                     ": it must be GT_NO_TRANSPOSE or GT_TRANSPOSE");
  }
  return value == GT_TRANSPOSE;
}

inline Order order_of(const char* name, gt_order value) {
  if (value != GT_ROW_MAJOR && value != GT_COLUMN_MAJOR) {
    throw UsageError(std::string(name) + " is " + std::to_string(static_cast<int>(value)) +
                     ": it must be GT_ROW_MAJOR or GT_COLUMN_MAJOR");
  }
  return value == GT_ROW_MAJOR ? Order::row_major : Order::column_major;
}

// owner and name: of the field in messages, "call" and "type_a".
inline ElementType element_type_of(const char* owner, const char* name, gt_type value) {
  switch (value) {
    case GT_F32:
      return ElementType::f32;
    case GT_F16:
      return ElementType::f16;
    case GT_BF16:
      return ElementType::bf16;
    case GT_TYPE_MAX:
      break;
  }
  throw UsageError(std::string(owner) + "." + name + " is " +
                   std::to_string(static_cast<int>(value)) +
                   ": it must be GT_F32, GT_F16 or GT_BF16");
}

}  // namespace gemm_tune
