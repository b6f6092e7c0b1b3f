// SPDX-License-Identifier: Apache-2.0
#include "core/text/shell_quote.h"

#include "core/text/printable.h"

namespace gemm_tune {

std::string shell_quote(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string quoted;
  const bool shown_as_it_is = printable(word, word.size()) == word;
  for (const char c : word) {
    if (c == '\'') {
      quoted += shown_as_it_is ? "'\\''" : "\\'";
    } else if (c == '\\' && !shown_as_it_is) {
      quoted += "\\\\";
    } else {
      quoted += c;
    }
  }
  if (shown_as_it_is) return "'" + quoted + "'";
  return "$'" + printable(quoted, 4 * quoted.size()) + "'";
}

}  // namespace gemm_tune
