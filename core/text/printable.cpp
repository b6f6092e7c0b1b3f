// SPDX-License-Identifier: Apache-2.0
#include "core/text/printable.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace gemm_tune {
namespace {

bool continues(unsigned char byte) { return byte >> 6 == 0b10; }

// The length of the character at the start of a text; 0 if the text is not UTF-8 (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length < 2) return length;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(byte(i))) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

// The number of a character of UTF-8.
char32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3fU);
  return code;
}

// What changes how other characters are shown, or is not seen: control characters, marks and
// overrides of the writing direction, separators of lines, characters without width, tags.
bool is_control(std::string_view character) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {{0, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c},
                               {0x180e, 0x180e}, {0x200b, 0x200b},  {0x200e, 0x200f},
                               {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                               {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  const char32_t code = code_point(character);
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

void add_escaped(std::string& to, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      to += "\\n";
    } else if (c == '\t') {
      to += "\\t";
    } else {
      to += {'\\', 'x', kHex[byte / 16], kHex[byte % 16]};
    }
  }
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const bool kept = keeps_lines && (text[0] == '\n' || text[0] == '\t');
    if (kept || (length > 0 && !is_control(character))) {
      printable += character;
    } else {
      add_escaped(printable, character);
    }
    text.remove_prefix(character.size());
  }
  return printable;
}

std::string without_zeros(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\0') {
      add_escaped(result, {&c, 1});
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  return escaped(excerpt(text, limit), false);
}

std::string printable_lines(std::string_view text) { return escaped(text, true); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void require_utf8(const std::string& what, const std::string& text) {
  if (!is_utf8(text)) throw UsageError(what + " '" + text + "' is not UTF-8: name another one");
}

std::string excerpt(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return without_zeros(text);
  std::size_t head = limit / 2, tail = text.size() - (limit - head);
  while (head > 0 && continues(static_cast<unsigned char>(text[head]))) --head;
  while (tail < text.size() && continues(static_cast<unsigned char>(text[tail]))) ++tail;
  return without_zeros(text.substr(0, head)) + "[... " + std::to_string(tail - head) +
         " bytes ...]" + without_zeros(text.substr(tail));
}

}  // namespace gemm_tune
