// SPDX-License-Identifier: Apache-2.0
// A hash for tables in memory. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gemm_tune {

inline std::size_t hash_words(std::span<const std::uint64_t> words) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;  // Fibonacci hashing
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace gemm_tune
