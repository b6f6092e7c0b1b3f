// SPDX-License-Identifier: Apache-2.0
// The width of terminals and of texts on them, in columns. Stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune {

// The columns of the terminal behind the descriptor; 80 if it does not report them.
std::size_t terminal_columns(int fd);

// The columns that a terminal needs for the text, which is UTF-8 without control characters: two
// for a wide character (East Asian, emoji), none for a combining character, one for a byte that is
// not part of a character.
std::size_t columns_of(std::string_view text);

// The longest start of the text that fits `columns`; does not cut a character.
std::string cut_to_columns(std::string_view text, std::size_t columns);

// The text as lines that fit `columns`, broken behind `separator`, which a broken line loses where
// it is a space. All lines but the first begin with `indent` spaces. A piece that is wider than a
// line stays whole.
std::vector<std::string> broken_lines(std::string_view text, char separator, std::size_t columns,
                                      std::size_t indent);

// The text with its lines broken behind words to fit `columns`; what follows a line's begin is
// indented by two columns more. A word that is wider stays whole on a line of its own, or is broken
// behind commas too.
std::string fitted(std::string_view text, std::size_t columns, bool at_commas);

}  // namespace gemm_tune
