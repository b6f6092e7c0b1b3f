// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernel_templates/device/tile/thread_tile.cuh"

namespace gemm_tune::my_tiles {

struct Params {
  int BM, BN, BK, TM, TN;
};

constexpr ThreadTile tile(const Params& p) { return {p.BM, p.BN, p.BK, p.TM, p.TN}; }
constexpr int threads(const Params& p) { return threads(tile(p)); }

constexpr auto rules() {
  return rules_of<Params>({
      {kUndividedTile, "BM TM", [](const Params& p) { return p.BM % p.TM != 0; }},
      {kUndividedTile, "BN TN", [](const Params& p) { return p.BN % p.TN != 0; }},
      whole_warps<Params>("BM BN TM TN"),
      at_most_1024_threads<Params>("BM BN TM TN"),
  });
}

constexpr const char* reject(const Params& p) {
  return are_tile_sizes(tile(p)) ? first_broken(rules(), p) : kBadTileSize;
}

}  // namespace gemm_tune::my_tiles
