// SPDX-License-Identifier: Apache-2.0
// The tiles of a CTA whose threads compute TM x TN neighbouring elements each, and the rules that
// they set.
//
// Plain constexpr functions without any CUDA: host and kernel read the same. The rules are for any
// Params with threads(p).
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune {

// A CTA computes BM x BN in slices of BK, a thread TM x TN.
struct ThreadTile {
  int BM, BN, BK, TM, TN;
};

constexpr bool are_tile_sizes(const ThreadTile& t) {
  return is_tile_size(t.BM) && is_tile_size(t.BN) && is_tile_size(t.BK) && is_tile_size(t.TM) &&
         is_tile_size(t.TN);
}

constexpr int threads_n(const ThreadTile& t) { return t.BN / t.TN; }
constexpr int threads(const ThreadTile& t) { return t.BM / t.TM * threads_n(t); }
// Of one slice of A and one of B, stored as they lie in global memory.
constexpr int smem_bytes(const ThreadTile& t) {
  return (smem_floats(t.BM * t.BK) + smem_floats(t.BK * t.BN)) * int(sizeof(float));
}

constexpr const char* kUndividedTile = "thread tile does not divide CTA tile";
constexpr const char* kTooManySums = "thread tile holds more than 128 accumulators";

// reads: the parameters that threads(p) depends on.
template <class Params>
constexpr Rule<Params> whole_warps(const char* reads) {
  return {"threads per CTA are not whole warps", reads,
          [](const Params& p) { return threads(p) % 32 != 0; }};
}
template <class Params>
constexpr Rule<Params> at_most_1024_threads(const char* reads) {
  return {"more than 1024 threads per CTA", reads,
          [](const Params& p) { return threads(p) > 1024; }};
}
// Of threads of TM x TN elements.
template <class Params>
constexpr auto thread_tile_rules() {
  return rules_of<Params>({
      {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
      {kUndividedTile, "BN TN", [](const Params& p) { return p.BN % p.TN != 0; }},
      {kTooManySums, "TM TN", [](const Params& p) { return p.TM * p.TN > 128; }},
      whole_warps<Params>("BM BN TM TN"),
      at_most_1024_threads<Params>("BM BN TM TN"),
  });
}

}  // namespace gemm_tune
