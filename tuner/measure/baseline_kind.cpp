// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/baseline_kind.h"

#include <string>

#include "core/error.h"

namespace gemm_tune {

std::string_view to_string(BaselineKind kind) {
  switch (kind) {
    case BaselineKind::cublas:
      return "cublas";
    case BaselineKind::cublas_lt:
      return "cublaslt";
  }
  throw Error("a kind of baseline outside the closed list");
}

BaselineKind parse_baseline_kind(std::string_view word) {
  for (const BaselineKind kind : {BaselineKind::cublas, BaselineKind::cublas_lt}) {
    if (word == to_string(kind)) return kind;
  }
  throw UsageError("'" + std::string(word) + "' is no baseline: name cublas or cublaslt");
}

BaselineKind kind_of(std::string_view baseline_name) {
  return baseline_name.starts_with("cublasLt ") ? BaselineKind::cublas_lt : BaselineKind::cublas;
}

}  // namespace gemm_tune
