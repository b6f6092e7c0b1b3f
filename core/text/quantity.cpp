// SPDX-License-Identifier: Apache-2.0
#include "core/text/quantity.h"

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

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted_text(std::uint64_t number, const std::string& noun, const std::string& plural) {
  const std::string several = plural.empty() ? noun + "s" : plural;
  return grouped(number) + " " + (number == 1 ? noun : several);
}

}  // namespace gemm_tune
