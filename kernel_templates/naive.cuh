// SPDX-License-Identifier: Apache-2.0
// naive: C = alpha * A * B + beta * C on CUDA cores, one thread per element, no shared memory.
//
// A [M,K], B [K,N], C [M,N] row-major. A CTA computes BM x BN; every thread reads its row of A and
// its column of B from global memory. COALESCED picks which elements neighbouring threads compute:
// 1 along a row of C, so that a warp's loads of B and stores of C fall into the same lines; 0 down
// a column, so that each lane touches a line of its own. PRED picks the edge handling: 1 for any
// shape, 0 for multiples of the tile.
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

constexpr Rule<Params> kRules[] = {
    {"threads per CTA are not whole warps", "BM BN",
     [](const Params& p) { return threads(p) % 32 != 0; }},
    {"more than 1024 threads per CTA", "BM BN", [](const Params& p) { return threads(p) > 1024; }},
};

constexpr const char* reject(const Params& p) {
  if (!is_tile_size(p.BM) || !is_tile_size(p.BN)) return kBadTileSize;
  if (!is_flag(p.COALESCED) || !is_flag(p.PRED)) return "COALESCED and PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::naive

#ifdef TUNED_PARAMS

#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"

namespace gemm_tune::naive {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const GemmArgs all) {
  const GemmArgs args = batch_entry(all);
  const TileOrigin origin = tile_origin<kP.BM, kP.BN>(args.N);
  const int row = origin.row + thread_row(kP, static_cast<int>(threadIdx.x));
  const int col = origin.col + thread_col(kP, static_cast<int>(threadIdx.x));
  if (kP.PRED != 0 && !in_bounds(row, args.M)) return;
  if (kP.PRED != 0 && !in_bounds(col, args.N)) return;
  const float* a = args.A + row * args.lda;
  const float* b = args.B + col;
  const int K = reduction_length(args);

  Vec<1> sum = {{0.0f}};
  for (int k = 0; k < K; ++k) sum.x[0] += a[k] * b[k * args.ldb];
  store_d<1, false>(args, row, col, sum);
}

}  // namespace gemm_tune::naive

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::naive {

// Wavefronts of one k step's two loads: an element of A per row, an element of B per column.
inline double feed_wavefronts(const Params& p) {
  constexpr long long kFarApart = 1 << 20;  // words between rows of A
  const int period = p.COALESCED != 0 ? p.BN : p.BM;
  const auto count = [](const WarpWords& words) { return global_wavefronts(words, 1); };
  const auto a = [&](int thread) { return std::optional(thread_row(p, thread) * kFarApart); };
  const auto b = [&](int thread) { return std::optional<long long>(thread_col(p, thread)); };
  return mean_over_warps(threads(p), period, a, count) +
         mean_over_warps(threads(p), period, b, count);
}

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.predicated = p.PRED != 0;
  t.registers_estimate = 40;
  t.feed_instructions_per_k = 2;
  t.feed_wavefronts_per_k = feed_wavefronts(p);
  t.other_instructions_per_k = 3;
  t.reads_global_in_inner_loop = true;
  return t;
}

inline KernelFamily family() {
  return make_family<Params>(
      "naive", "one thread per element, straight from global memory",
      {{"BM", &Params::BM, {8, 16, 32}, "CTA tile rows"},
       {"BN", &Params::BN, {8, 16, 32}, "CTA tile columns"},
       {"COALESCED", &Params::COALESCED, {0, 1}, "1: neighbouring threads along a row of C"},
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
}

}  // namespace gemm_tune::naive

#endif
