// SPDX-License-Identifier: Apache-2.0
// A text's parts between separators.
#pragma once

#include <string_view>
#include <vector>

namespace gemm_tune {

// At least one part; parts may be empty: "a//" has "a", "" and "".
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace gemm_tune
