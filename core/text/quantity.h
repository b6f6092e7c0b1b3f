// SPDX-License-Identifier: Apache-2.0
// Times and counts as texts, in the same form for every locale. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace gemm_tune {

// With three digits and the unit that fits, up to hours: "2.63 us", "340 ms", "71.0 s", "12.5 min".
std::string short_duration_text(double us);

// "1,234,567".
std::string grouped(std::uint64_t value);

// "1 row", "12,345 rows": of 1 and of other numbers. plural: where it is not the noun and an s.
std::string counted_text(std::uint64_t number, const std::string& noun, const std::string& plural);
template <class Count>
std::string counted(Count number, const std::string& noun, const std::string& plural = "") {
  return counted_text(static_cast<std::uint64_t>(number), noun, plural);
}

}  // namespace gemm_tune
