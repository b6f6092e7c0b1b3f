// SPDX-License-Identifier: Apache-2.0
// Which operands a verifier keeps, with their fp64 references: a pure rule over bytes.
//
// Several problems of a job are measured in turn on one GPU. The two references of a problem of
// 8192 cost 2 x 10^12 fp64 operations, more than all launches of a candidate: they stay while there
// is memory, for the problem's next candidate. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gemm_tune {

// From here operands are large. Those of the small verification shapes are below.
inline constexpr std::size_t kLargeBytes = std::size_t{1} << 25;
inline constexpr std::size_t kMostSmallBytes = std::size_t{1} << 29;  // of all small ones together
inline constexpr std::size_t kShareOfMemory = 4;  // large ones take the fourth part at most

struct KeptOperands {
  std::size_t bytes;       // with the references
  std::uint64_t last_use;  // a count that rises with every use
  bool is_of_shape;        // of the shape whose operands are wanted: they stay
};

// Whether each of these makes room for further operands of `bytes`: of the large ones for large
// ones, of the small for small, those whose last use is the longest ago, until what is left and the
// new ones are within the bound, or all but those of the shape are gone. Large operands beyond the
// bound leave small ones alone, which every candidate uses.
inline std::vector<bool> make_room(std::span<const KeptOperands> kept, std::size_t bytes,
                                   std::size_t memory_bytes) {
  const auto is_alike = [&](const KeptOperands& one) {
    return (one.bytes >= kLargeBytes) == (bytes >= kLargeBytes);
  };
  std::size_t all_bytes = bytes;
  std::vector<std::size_t> oldest_first;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!is_alike(kept[i])) continue;
    all_bytes += kept[i].bytes;
    if (!kept[i].is_of_shape) oldest_first.push_back(i);
  }
  std::sort(oldest_first.begin(), oldest_first.end(),
            [&](std::size_t a, std::size_t b) { return kept[a].last_use < kept[b].last_use; });
  const std::size_t most = bytes >= kLargeBytes ? memory_bytes / kShareOfMemory : kMostSmallBytes;
  std::vector<bool> goes(kept.size(), false);
  for (const std::size_t i : oldest_first) {
    if (all_bytes <= most) break;
    goes[i] = true;
    all_bytes -= kept[i].bytes;
  }
  return goes;
}

}  // namespace gemm_tune
