// SPDX-License-Identifier: Apache-2.0
#include "core/types/accuracy.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {

std::optional<Accuracy> accuracy_named(std::string_view text) {
  int number = 1;
  for (const AccuracyInfo& info : kAccuracyTable) {
    const auto is_text = [&](const char* alias) { return alias != nullptr && alias == text; };
    if (is_text(info.name) ||
        std::any_of(std::begin(info.aliases), std::end(info.aliases), is_text)) {
      return static_cast<Accuracy>(number);
    }
    ++number;
  }
  return std::nullopt;
}

Accuracy fp32_accuracy_named(std::string_view value) {
  const std::optional<Accuracy> named = accuracy_named(value);
  if (named && info_of(*named).operands == OperandKind::f32) return *named;
  throw UsageError(std::string(kFp32AccuracyVariable) + " is '" + excerpt(value) +
                   "': it must be an accuracy class of fp32 products, as fp32_f16x3");
}

std::string accuracy_names() {
  std::string names;
  for (const AccuracyInfo& info : kAccuracyTable) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return names;
}

}  // namespace gemm_tune
