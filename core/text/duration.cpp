// SPDX-License-Identifier: Apache-2.0
#include "core/text/duration.h"

#include <charconv>
#include <iterator>

namespace gemm_tune {

std::string short_duration_text(double us) {
  constexpr struct {
    double us;
    const char* name;
  } kUnits[] = {{1, " us"}, {1e3, " ms"}, {1e6, " s"}, {6e7, " min"}, {3.6e9, " h"}};
  constexpr double kMostMinutes = 120;
  const auto* unit = kUnits;
  while (unit != std::end(kUnits) - 1 &&
         us / unit->us >= (unit->us == 6e7 ? kMostMinutes : 999.5)) {
    ++unit;
  }
  const double value = us / unit->us;
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char text[32];
  const auto end =
      value < 1e12 ? std::to_chars(text, std::end(text), value, std::chars_format::fixed, decimals)
                   : std::to_chars(text, std::end(text), value, std::chars_format::general, 3);
  return std::string(text, end.ptr) + unit->name;
}

}  // namespace gemm_tune
