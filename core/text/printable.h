// SPDX-License-Identifier: Apache-2.0
// Makes texts from outside (files, databases, drivers, command lines) safe to show on a terminal.
//
// A control byte could rewrite the screen, and a line of 50 MB would bury the sentence around it.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gemm_tune {

inline constexpr std::size_t kLongestMessage = 4000;  // bytes of one sentence to the user
inline constexpr std::size_t kLongestQuote = 160;     // bytes of one word quoted in a sentence

// The text on one line. Control bytes and bytes that are not UTF-8 become escapes: \n, \t or \x1b.
// A text above `limit` bytes is cut to its start and its end, with "[... 123 bytes ...]" between
// them.
std::string printable(std::string_view text, std::size_t limit = kLongestMessage);

// The same for a text of many lines: line ends and tabs stay, and nothing is cut.
std::string printable_lines(std::string_view text);

bool is_utf8(std::string_view text);

// Throws UsageError, starting with `what`, where the text is not UTF-8.
void require_utf8(const std::string& what, const std::string& text);

// The text for a quotation in a sentence: cut as by printable(), otherwise unchanged. Only a zero
// byte becomes \x00, because it would end the message of an exception.
std::string excerpt(std::string_view text, std::size_t limit = kLongestQuote);

}  // namespace gemm_tune
