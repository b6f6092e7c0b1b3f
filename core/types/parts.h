// SPDX-License-Identifier: Apache-2.0
// How many parts the operands of a product have, and how many products of parts stand for one,
// where its accuracy class splits operands. Values; any thread.
#pragma once

#include "core/types/signature.h"

namespace gemm_tune {

// Of an element of an operand of this type. One of 16 bits beside one of f32 is not split.
constexpr int parts_of(const Signature& signature, ElementType type) {
  const AccuracyInfo& info = info_of(signature.accuracy);
  return kind_of_operand(type) == info.operands ? info.parts : 1;
}

// Each part of one operand meets the other operand where that is not split.
constexpr int products_of(const Signature& signature) {
  const AccuracyInfo& info = info_of(signature.accuracy);
  return signature.a == signature.b ? info.products : info.parts;
}

}  // namespace gemm_tune
