// SPDX-License-Identifier: Apache-2.0
// The parameters of coarsened_1d (kernel.cuh), what follows from them, and the rules that they
// obey. Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::coarsened_1d {

struct Params {
  int BM, BN, BK, TM, PRED;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, p.TM, 1}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }
constexpr int unroll(const Params& p) { return unroll_factor(p.BK, p.TM); }

constexpr auto rules() {
  return rules_of<Params>({
      {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
      {kTooManySums, "TM", [](const Params& p) { return p.TM > 128; }},
      whole_warps<Params>("BM BN TM"),
      at_most_1024_threads<Params>("BM BN TM"),
  });
}

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes(tile(p))) return kBadTileSize;
  if (!is_flag(p.PRED)) return "PRED must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::coarsened_1d
