// SPDX-License-Identifier: Apache-2.0
// The family skinny as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/skinny/params.cuh"

namespace gemm_tune::skinny {
namespace {

Traits traits(const Params& p) {
  ThreadTile tile = {p.BS, tile_l(p), slice_k(p), p.BS, p.TL};
  if (p.SKINNY_N != 0) tile = {tile_l(p), p.BS, slice_k(p), p.TL, p.BS};
  Traits t = tile_traits(tile, threads(p), smem_bytes(p));
  t.threads_along_k = warps_k(p) * p.LANES_K;
  t.split_k = p.SPLIT_K;
  t.cluster_ctas = p.CLUSTER != 0 ? p.SPLIT_K : 1;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.repack = p.REPACK != 0;
  t.batch_kind = static_cast<BatchKind>(p.POINTERS);
  t.signature.a = static_cast<ElementType>(p.TYPE_A);
  t.signature.b = static_cast<ElementType>(p.TYPE_B);
  t.kept_sixteenths = p.KEEP;
  t.barriers_per_tile_k = 2;
  const int rounds = 2 * p.BS / sum_rows(p);
  t.end_barriers = rounds;
  const int wavefronts = 2 * warps_k(p) * p.BS * tile_l(p) / 32;  // stored and loaded
  t.end_wavefronts = wavefronts;

  // One step of a warp: from shared memory the small operand's vectors, from global memory the
  // large one's, each lane's own.
  const bool along_k = streams_along_k(p);
  const int vec = along_k ? p.VEC : vector_width(p.BS);
  const double loads = along_k ? p.BS : p.BS / vec;
  WarpWords words;
  for (int lane = 0; lane < 32; ++lane) {
    words[static_cast<std::size_t>(lane)] = lane / lanes_l(p) * vec;
  }
  const bool widens_stream = streamed_type(p) != kTypeF32,
             widens_staged = staged_type(p) != kTypeF32;
  const int stream_bytes = p.VEC * type_bytes(streamed_type(p));
  const double stream_wavefronts = max_of((stream_bytes + 3) / 4, along_k ? lanes_l(p) : 1);
  t.feed_instructions_per_k = (loads + pieces(p)) / step_k(p);
  t.feed_wavefronts_per_k =
      (loads * shared_load_wavefronts(words, vec) + pieces(p) * stream_wavefronts) / step_k(p);
  const bool transposes = stages_along_k(p) != along_k;
  const int rows = stages_along_k(p) ? p.BS : slice_k(p);
  const int cols = stages_along_k(p) ? slice_k(p) : p.BS;
  const int fill_vec = transposes ? 1 : vector_width(cols, p.VEC);
  const AccessCost fill =
      tile_copy_cost(rows, cols, threads(p), fill_vec,
                     transposes ? TileOrder::transposed : TileOrder::row_major, staged_ld(p));
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  const double fill_loads = tile_loads(rows, cols, threads(p), fill_vec);
  // An instruction for each element that is widened.
  const double widened = (widens_stream ? 1.0 * p.TL * vec_k(p) / step_k(p) : 0) +
                         (widens_staged ? 1.0 * p.BS / threads(p) : 0);
  t.other_instructions_per_k = (2.0 * pieces(p) + 3.0 / p.UNROLL) / step_k(p) + widened +
                               overhead_per_k(slice_k(p), slice_k(p), fill_loads, t.predicated);
  // Fitted on sm_90 (CUDA 13.0): over 77 random configs the root mean square error is 17. What the
  // launch bounds cap does not spill.
  const int most = kSmRegisters / (threads(p) * min_ctas_per_sm(p));
  t.registers_estimate = min_of(most, max_of(80, registers(p) * 6 / 5));
  return t;
}

}  // namespace

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "skinny", /*revision=*/2,
      "M or N small: the large operand streams through registers, all layouts",
      {{"CLUSTER", &Params::CLUSTER, {0, 1}, "1: the SPLIT_K CTAs of a tile form a cluster"},
       {"BS", &Params::BS, {1, 2, 4, 8, 16, 32}, "CTA and thread tile along the skinny edge"},
       {"TL", &Params::TL, {1, 2, 4}, "thread tile along the long edge"},
       {"WARPS", &Params::WARPS, {4, 8, 16}, "warps per CTA"},
       {"LANES_K", &Params::LANES_K, {1, 8, 32}, "lanes of a warp along K, where rows lie along K"},
       {"UNROLL", &Params::UNROLL, {2, 4, 8, 16}, "steps along K under way at once"},
       vector_width_param("VEC", &Params::VEC),
       split_k_param("SPLIT_K", &Params::SPLIT_K, {1, 2, 4, 8, 16},
                     "CTAs that share one tile along K"),
       {"SKINNY_N", &Params::SKINNY_N, {0, 1}, "1: N is the small edge; 0: M is"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       predicated_param("PRED", &Params::PRED),
       repack_param("REPACK", &Params::REPACK),
       {"KEEP",
        &Params::KEEP,
        {0, 1, 2, 4, 6, 8, 12},
        "sixteenths of the large operand that stay in the L2 from launch to launch",
        Role::tunable,
        0,
        SearchScope::everywhere,
        /*adds_kernel=*/false,
        &Traits::kept_sixteenths,
        RegistersBy::presence},
       {"STAGED_FIRST",
        &Params::STAGED_FIRST,
        {0, 1},
        "1: the small operand's first loads come before the large one's",
        Role::tunable,
        0,
        SearchScope::everywhere,
        /*adds_kernel=*/false,
        /*trait=*/nullptr,
        RegistersBy::nothing},
       pointers_param("POINTERS", &Params::POINTERS),
       type_a_param("TYPE_A", &Params::TYPE_A),
       type_b_param("TYPE_B", &Params::TYPE_B)},
      rules().list, &reject, &traits);
  family.compile_seconds = 0.3;
  // Chosen as warp_tiled's.
  family.representatives = {values_of(Params{.CLUSTER = 0,
                                             .BS = 8,
                                             .TL = 4,
                                             .WARPS = 4,
                                             .LANES_K = 32,
                                             .UNROLL = 2,
                                             .VEC = 4,
                                             .SPLIT_K = 1,
                                             .SKINNY_N = 1,
                                             .TA = 0,
                                             .TB = 0,
                                             .PRED = 1})};
  return family;
}

}  // namespace gemm_tune::skinny
