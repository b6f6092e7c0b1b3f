// SPDX-License-Identifier: Apache-2.0
// What a line on a terminal has room for. Stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gemm_tune {

// Of the terminal behind the descriptor; 80 where it does not say.
std::size_t terminal_columns(int fd);

// How many columns a terminal takes for the text, which is UTF-8 without control characters: two
// for a wide character (East Asian, emoji), none for a combining one, one for a byte that is no
// character.
std::size_t columns_of(std::string_view text);

// As much of the text's start as so many columns hold; no character is cut in two.
std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace gemm_tune
