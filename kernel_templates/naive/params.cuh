// SPDX-License-Identifier: Apache-2.0
// The parameters of naive (kernel.cuh), what follows from them, and the rules that they obey. Read
// by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::naive {

struct Params {
  int BM, BN, COALESCED, PRED;
};

constexpr int threads(const Params& p) { return p.BM * p.BN; }
// The element of the CTA tile that a thread computes.
constexpr int thread_row(const Params& p, int thread) {
  return p.COALESCED != 0 ? thread / p.BN : thread % p.BM;
}
constexpr int thread_col(const Params& p, int thread) {
  return p.COALESCED != 0 ? thread % p.BN : thread / p.BM;
}

constexpr auto rules() {
  return rules_of<Params>({
      {"threads per CTA are not whole warps", "BM BN",
       [](const Params& p) { return threads(p) % 32 != 0; }},
      {"more than 1024 threads per CTA", "BM BN",
       [](const Params& p) { return threads(p) > 1024; }},
  });
}

constexpr const char* reject(const Params& p) {
  if (!is_tile_size(p.BM) || !is_tile_size(p.BN)) return kBadTileSize;
  if (!is_flag(p.COALESCED) || !is_flag(p.PRED)) return "COALESCED and PRED must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::naive
