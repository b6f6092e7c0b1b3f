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

#include "core/problem/gemm_call.h"
#include "core/text/hash_words.h"
#include "db/record.h"

namespace gemm_tune {

static_assert(kEpilogueFunctors <= 24);

// A call's problem and form on the device of this ordinal, in words that are equal iff these are.
struct CallKey {
  std::array<std::uint64_t, 6> words;

  CallKey(const Problem& problem, const CallForm& form, int ordinal)
      : words{word(problem.M),     word(problem.N),     word(problem.K),
              word(problem.batch), shape_bits(problem), type_bits(problem, form.c, ordinal)} {}

  // The same call, but one that no library may serve.
  void forbid_library() { words[4] |= std::uint64_t{1} << 40; }

  std::size_t hash() const { return hash_words(words); }
  friend bool operator==(const CallKey&, const CallKey&) = default;

 private:
  template <class T>
  static std::uint64_t word(T value) {
    return static_cast<std::uint64_t>(value);
  }
  static std::uint64_t shape_bits(const Problem& p) {
    return word(p.alignment.a) | word(p.alignment.b) << 8 | word(p.alignment.c) << 16 |
           word(p.alignment.d) << 24 | word(p.layout) << 32 | word(p.batch_kind) << 36;
  }
  static std::uint64_t type_bits(const Problem& p, COperand c, int ordinal) {
    const Signature& s = p.signature;
    return word(s.a) | word(s.b) << 4 | word(s.c) << 8 | word(s.d) << 12 | word(s.accuracy) << 16 |
           word(c) << 20 | word(p.epilogue.bits()) << 24 | word(ordinal) << 48;
  }
};

// A question about a kernel: a call on a device that is named as in the database.
template <class Text>
struct QuestionKey {
  Text arch, name;
  int sm_count;
  CallKey call;

  // Of few devices, so that their names are compared and not hashed.
  std::size_t hash() const {
    return call.hash() ^ (name.size() + static_cast<std::size_t>(sm_count));
  }
  template <class Other>
  bool operator==(const QuestionKey<Other>& other) const {
    return call == other.call && sm_count == other.sm_count && name == other.name &&
           arch == other.arch;
  }
};

}  // namespace gemm_tune
