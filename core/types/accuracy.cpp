// SPDX-License-Identifier: Apache-2.0
#include "core/types/accuracy.h"

namespace gemm_tune {

std::optional<Accuracy> accuracy_named(std::string_view text) {
  int number = 1;
  for (const AccuracyInfo& info : kAccuracyTable) {
    const auto is_alias = [&](const char* alias) { return alias != nullptr && alias == text; };
    if (info.name == text || is_alias(info.aliases[0]) || is_alias(info.aliases[1])) {
      return static_cast<Accuracy>(number);
    }
    ++number;
  }
  return std::nullopt;
}

std::optional<Accuracy> fp32_accuracy_named(std::string_view text) {
  const std::optional<Accuracy> named = accuracy_named(text);
  return named && info_of(*named).operands == OperandKind::f32 ? named : std::nullopt;
}

std::string accuracy_names() {
  std::string names;
  for (const AccuracyInfo& info : kAccuracyTable) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

}  // namespace gemm_tune
