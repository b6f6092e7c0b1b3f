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
    case BaselineKind::cublas_autotuned:
      return "cublas-autotuned";
  }
  throw Error("a kind of baseline outside the closed list");
}

BaselineKind parse_baseline_kind(std::string_view word) {
  for (const BaselineKind kind : kBaselineKinds) {
    if (word == to_string(kind)) return kind;
  }
  throw UsageError("'" + std::string(word) +
                   "' is no baseline: name cublas, cublaslt or cublas-autotuned");
}

BaselineKind kind_of(std::string_view baseline_name) {
  const std::string_view function = baseline_name.substr(0, baseline_name.find(' '));
  if (function.ends_with("-autotuned")) return BaselineKind::cublas_autotuned;
  return function == "cublasLt" ? BaselineKind::cublas_lt : BaselineKind::cublas;
}

}  // namespace gemm_tune
