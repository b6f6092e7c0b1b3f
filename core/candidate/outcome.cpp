// SPDX-License-Identifier: Apache-2.0
#include "core/candidate/outcome.h"

#include <limits>

#include "core/error.h"
#include "core/text/words.h"

namespace gemm_tune {
namespace {

constexpr auto kDispositions = words<Disposition>({{Disposition::ok, "ok"},
                                                   {Disposition::rejected, "rejected"},
                                                   {Disposition::compile_failed, "compile_failed"},
                                                   {Disposition::launch_failed, "launch_failed"},
                                                   {Disposition::wrong_result, "wrong_result"},
                                                   {Disposition::timed_out, "timed_out"},
                                                   {Disposition::crashed, "crashed"}});

}  // namespace

std::string_view to_string(Disposition disposition) { return word_of(kDispositions, disposition); }

Disposition parse_disposition(std::string_view word) {
  if (const auto disposition = value_of(kDispositions, word)) return *disposition;
  throw Error("'" + std::string(word) + "' is not a disposition");
}

std::string_view to_string(Source source) {
  return source == Source::measured ? "measured" : "predicted";
}

Source parse_source(std::string_view word) {
  if (word == "measured") return Source::measured;
  if (word == "predicted") return Source::predicted;
  throw Error("'" + std::string(word) + "' is not a source: measured or predicted");
}

std::optional<double> error_ratio(const std::optional<double>& its,
                                  const std::optional<double>& others) {
  if (!its || !others) return std::nullopt;
  if (*others > 0) return *its / *others;
  return *its > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace gemm_tune
