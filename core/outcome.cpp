// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"

#include <array>
#include <limits>
#include <utility>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr std::array kDispositions = {
    std::pair{Disposition::ok, std::string_view("ok")},
    std::pair{Disposition::rejected, std::string_view("rejected")},
    std::pair{Disposition::compile_failed, std::string_view("compile_failed")},
    std::pair{Disposition::launch_failed, std::string_view("launch_failed")},
    std::pair{Disposition::wrong_result, std::string_view("wrong_result")},
    std::pair{Disposition::timed_out, std::string_view("timed_out")},
    std::pair{Disposition::crashed, std::string_view("crashed")},
};

constexpr std::array kStandings = {
    std::pair{Standing::search, std::string_view("search")},
    std::pair{Standing::finals, std::string_view("finals")},
    std::pair{Standing::tied, std::string_view("tied")},
};

}  // namespace

std::string_view to_string(Disposition disposition) {
  for (const auto& [value, word] : kDispositions) {
    if (value == disposition) return word;
  }
  throw Error("a disposition outside the closed list");
}

Disposition parse_disposition(std::string_view word) {
  for (const auto& [value, known] : kDispositions) {
    if (known == word) return value;
  }
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

std::string_view to_string(Standing standing) {
  for (const auto& [value, word] : kStandings) {
    if (value == standing) return word;
  }
  throw Error("a standing outside the closed list");
}

Standing parse_standing(std::string_view word) {
  for (const auto& [value, known] : kStandings) {
    if (known == word) return value;
  }
  throw Error("'" + std::string(word) + "' is not a standing: search, finals or tied");
}

std::optional<double> error_ratio(const std::optional<double>& its,
                                  const std::optional<double>& others) {
  if (!its || !others) return std::nullopt;
  if (*others > 0) return *its / *others;
  return *its > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace gemm_tune
