// SPDX-License-Identifier: Apache-2.0
// A closed list of values and the word that stands for each in texts: one table, read both ways.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/error.h"

namespace gemm_tune {

template <class Value>
struct Word {
  Value value;
  std::string_view text;
};

template <class Value, std::size_t N>
constexpr std::array<Word<Value>, N> words(const Word<Value> (&list)[N]) {
  return std::to_array(list);
}

// Throws Error for a value that the table lacks.
template <class Value, std::size_t N>
std::string_view word_of(const std::array<Word<Value>, N>& words, Value value) {
  for (const Word<Value>& word : words) {
    if (word.value == value) return word.text;
  }
  throw Error("a value outside its closed list");
}

template <class Value, std::size_t N>
std::optional<Value> value_of(const std::array<Word<Value>, N>& words, std::string_view text) {
  for (const Word<Value>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

}  // namespace gemm_tune
