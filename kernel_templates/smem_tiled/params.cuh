// SPDX-License-Identifier: Apache-2.0
// The parameters of smem_tiled (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::smem_tiled {

struct Params {
  int BM, BN, BK, UNROLL, PRED;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, 1, 1}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }
constexpr int unroll(const Params& p) { return p.UNROLL != 0 ? p.BK : 1; }

constexpr auto rules() {
  return rules_of<Params>({
      whole_warps<Params>("BM BN"),
      at_most_1024_threads<Params>("BM BN"),
  });
}

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes(tile(p))) return kBadTileSize;
  if (!is_flag(p.UNROLL) || !is_flag(p.PRED)) return "UNROLL and PRED must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::smem_tiled
