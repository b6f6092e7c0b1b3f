// SPDX-License-Identifier: Apache-2.0
#include "tuner/measure/baseline_kind.h"

#include <array>
#include <string>

#include "core/error.h"
#include "core/text/words.h"

namespace gemm_tune {
namespace {

constexpr auto kBaselineWords =
    words<BaselineKind>({{BaselineKind::cublas, "cublas"},
                         {BaselineKind::cublas_lt, "cublaslt"},
                         {BaselineKind::cublas_autotuned, "cublas-autotuned"}});

}  // namespace

std::string_view to_string(BaselineKind kind) { return word_of(kBaselineWords, kind); }

BaselineKind parse_baseline_kind(std::string_view word) {
  if (const auto kind = value_of(kBaselineWords, word)) return *kind;
  throw UsageError("'" + std::string(word) +
                   "' is no baseline: name cublas, cublaslt or cublas-autotuned");
}

BaselineKind kind_of(std::string_view baseline_name) {
  if (baseline_name.ends_with("-autotuned")) return BaselineKind::cublas_autotuned;
  return baseline_name == "cublasLt" ? BaselineKind::cublas_lt : BaselineKind::cublas;
}

}  // namespace gemm_tune
