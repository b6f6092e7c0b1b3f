// SPDX-License-Identifier: Apache-2.0
// The parameters of vectorized_2d (kernel.cuh), what follows from them, and the rules that they
// obey. Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/tile/thread_tile.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::vectorized_2d {

struct Params {
  int BM, BN, BK, TM, TN, VEC, PAD, INTERLEAVE, PRED;
  int REPACK = 0;
};

constexpr int threads_m(const Params& p) { return p.BM / p.TM; }
constexpr int threads_n(const Params& p) { return p.BN / p.TN; }
constexpr int threads(const Params& p) { return threads_m(p) * threads_n(p); }
constexpr int a_ld(const Params& p) { return p.BM + p.PAD; }
constexpr int b_ld(const Params& p) { return p.BN + p.PAD; }
constexpr int smem_bytes(const Params& p) {
  return (smem_floats(p.BK * a_ld(p)) + smem_floats(p.BK * b_ld(p))) * int(sizeof(float));
}
// A thread's rows come in groups of this many neighbours; without INTERLEAVE the groups touch.
constexpr int group(int t) { return vector_width(t); }
// Elements per shared-memory access of a fragment.
constexpr int fragment_vec(int t, int ld) { return vector_width(group(t), ld); }
// Offset in the CTA tile of group g of the t rows (or columns) of a thread, one of count along that
// edge.
constexpr int group_offset(const Params& p, int t, int count, int thread, int g) {
  return p.INTERLEAVE != 0 ? (g * count + thread) * group(t) : thread * t + g * group(t);
}
// Elements per store of C.
constexpr int store_vec_width(const Params& p) { return min_of(p.VEC, group(p.TN)); }

constexpr auto rules() {
  return joined(
      thread_tile_rules<Params>(),
      {
          {"vector access does not divide a row of a slice", "BN BK VEC",
           [](const Params& p) { return p.BK % p.VEC != 0 || p.BN % p.VEC != 0; }},
          {"slice of A is not a whole number of vector loads per thread", "BM BN BK TM TN VEC",
           [](const Params& p) { return p.BM * p.BK % (threads(p) * p.VEC) != 0; }},
          {"slice of B is not a whole number of vector loads per thread", "BM BN BK TM TN VEC",
           [](const Params& p) { return p.BN * p.BK % (threads(p) * p.VEC) != 0; }},
          {"interleaving needs more than one group per thread", "TM TN INTERLEAVE",
           [](const Params& p) {
             return p.INTERLEAVE != 0 && p.TM == group(p.TM) && p.TN == group(p.TN);
           }},
      });
}

constexpr const char* reject(const Params& p) {
  if (!are_tile_sizes({p.BM, p.BN, p.BK, p.TM, p.TN})) return kBadTileSize;
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4) return "VEC must be 1, 2 or 4";
  if (p.PAD < 0 || p.PAD > 32) return "PAD must lie between 0 and 32";
  if (!is_flag(p.INTERLEAVE) || !is_flag(p.PRED) || !is_flag(p.REPACK))
    return "INTERLEAVE, PRED and REPACK must be 0 or 1";
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::vectorized_2d
