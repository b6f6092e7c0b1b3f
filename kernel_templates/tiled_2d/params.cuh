// SPDX-License-Identifier: Apache-2.0
// The parameters of tiled_2d (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::tiled_2d {

struct Params {
  int BM, BN, BK, TM, TN, PRED;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, p.TM, p.TN}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }
// k steps to unroll. Further, and the compiler fetches A four k steps at a time: 185 registers for
// an 8 x 8 tile instead of 127.
constexpr int unroll(const Params& p) { return min_of(p.BK, max_of(1, 128 / (p.TM * p.TN))); }

constexpr auto rules() { return thread_tile_rules<Params>(); }

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes(tile(p))) return kBadTileSize;
  if (!is_flag(p.PRED)) return "PRED must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::tiled_2d
