// SPDX-License-Identifier: Apache-2.0
// Keys by which the library remembers what it has found out about calls.
//
// Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/gemm_call.h"
#include "core/hash_words.h"
#include "db/record.h"

namespace gemm_tune {

// A call's problem and form on the device of this ordinal, in words that are equal iff these are.
struct CallKey {
  std::array<std::uint64_t, 6> words;

  CallKey(const Problem& problem, const CallForm& form, int ordinal)
      : words{word(problem.M),     word(problem.N),
              word(problem.K),     word(problem.batch),
              shape_bits(problem), type_bits(problem.signature, form, ordinal)} {}

  // The same call, but one that cuBLAS has no function for.
  void forbid_cublas() { words[4] |= std::uint64_t{1} << 40; }

  // As those of no gt_problem, whose last word is 0.
  std::array<std::uint64_t, 9> question() const {
    return {words[0], words[1], words[2], words[3], words[4], words[5], 0, 0, 1};
  }

  std::size_t hash() const { return hash_words(words); }
  friend bool operator==(const CallKey&, const CallKey&) = default;

 private:
  template <class T>
  static std::uint64_t word(T value) {
    return static_cast<std::uint64_t>(value);
  }
  static std::uint64_t shape_bits(const Problem& p) {
    return word(p.alignment.a) | word(p.alignment.b) << 8 | word(p.alignment.c) << 16 |
           word(p.alignment.d) << 24 | word(p.layout) << 32;
  }
  static std::uint64_t type_bits(const Signature& s, const CallForm& form, int ordinal) {
    return word(s.a) | word(s.b) << 4 | word(s.c) << 8 | word(s.d) << 12 | word(s.accuracy) << 16 |
           word(form.c) << 20 | word(form.epilogue) << 24 | word(ordinal) << 32;
  }
};

// A question about a kernel: a gt_problem's words, or a CallKey's, on a device that is named as in
// the database.
template <class Text>
struct QuestionKey {
  using Words = std::array<std::uint64_t, 9>;

  Text arch, name;
  int sm_count;
  Words words;

  // Of few devices, so that their names are compared and not hashed.
  std::size_t hash() const {
    return hash_words(words) ^ (name.size() + static_cast<std::size_t>(sm_count));
  }
  template <class Other>
  bool operator==(const QuestionKey<Other>& other) const {
    return words == other.words && sm_count == other.sm_count && name == other.name &&
           arch == other.arch;
  }
};

}  // namespace gemm_tune
