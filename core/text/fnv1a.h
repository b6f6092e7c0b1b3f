// SPDX-License-Identifier: Apache-2.0
// FNV-1a with 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. Guards against damage, not
// malice.
//
// Use one object from one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gemm_tune {

class Fnv1a {
 public:
  // Adds the text and a zero byte, so that "ab", "c" and "a", "bc" give different hashes.
  void add(std::string_view text) {
    add_bytes(text);
    add_byte(0);
  }

  void add_bytes(std::string_view bytes) {
    for (const char c : bytes) add_byte(static_cast<unsigned char>(c));
  }

  std::uint64_t value() const { return state_; }

  // 16 hexadecimal digits.
  std::string hex() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(state_ >> shift) & 15];
    return text;
  }

 private:
  void add_byte(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3u; }

  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace gemm_tune
