// SPDX-License-Identifier: Apache-2.0
// A number as the command line takes it: decimal digits over the whole text. No blanks, no plus
// sign, no other base. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace gemm_tune {

// T: an integer or double. nullopt if the text is not a number or does not fit.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace gemm_tune
