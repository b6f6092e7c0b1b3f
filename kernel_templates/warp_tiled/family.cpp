// SPDX-License-Identifier: Apache-2.0
// The family warp_tiled as the host sees it: cost and search space.
#include "kernel_templates/family.h"

#include "kernel_templates/cost.h"
#include "kernel_templates/device/sum/reduce_shape.cuh"
#include "kernel_templates/product_plan.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/warp_tiled/params.cuh"
#include "kernel_templates/warp_tiled/representatives.h"

namespace gemm_tune::warp_tiled {
namespace {

// Of a cp.async of single floats along a line: two lines of the matrix and one of shared memory.
// Where the floats do not lie along lines, slice_copy_cost() says 32.
constexpr double kLineWavefronts = 3;

// Of one operand's slice, per warp, with accesses of vec elements.
AccessCost fill_cost(const Params& p, int edge, int vec, bool along_k) {
  const bool async = is_async(p, along_k);
  const AccessCost any =
      slice_copy_cost(edge, p.BK, threads(p), copy_vec(p, vec, along_k), along_k, async);
  if (p.LINES == 0 || vec > 1 || along_k || !async) return any;
  return {any.instructions, kLineWavefronts * any.instructions};
}

// Per warp, of the elements of 16 bits that a slice has: an instruction each.
double widening_per_k(const Params& p) {
  const int widened = (p.TYPE_A != kTypeF32 ? p.BM : 0) + (p.TYPE_B != kTypeF32 ? p.BN : 0);
  return 1.0 * widened / threads(p);
}

// What the copies of A and B cost and demand.
void set_copies(Traits& t, const Params& p) {
  const VectorWidths widths = access_widths(p);
  const int a = copy_vec(p, widths.a, a_along_k(p)), b = copy_vec(p, widths.b, b_along_k(p));
  t.vector_multiple_m = !a_along_k(p) ? a : 1;
  t.vector_multiple_n = !b_along_k(p) ? b : 1;
  t.vector_multiple_k = max_of(a_along_k(p) ? a : 1, b_along_k(p) ? b : 1);
  const AccessCost fill =
      fill_cost(p, p.BM, widths.a, a_along_k(p)) + fill_cost(p, p.BN, widths.b, b_along_k(p));
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  t.copies_wait = !is_async(p, a_along_k(p)) || !is_async(p, b_along_k(p));
  const double loads =
      copy_passes(p.BM, p.BK, threads(p), a) + copy_passes(p.BN, p.BK, threads(p), b);
  // With LINES, predicates take the place of edge tests and of an address for each copied float:
  // the machine code has 60 to 80 instructions beside copies and products in a slice of
  // 128 x 128 x 16.
  t.other_instructions_per_k = overhead_per_k(p.BK, p.BK, loads, t.predicated && p.LINES == 0);
  t.other_instructions_per_k += widening_per_k(p);
  // By counts in the SASS of 12 configs: 4 to 12 instructions for addresses in a slice less, more
  // of them where accesses are wide.
  if (p.STEPPED != 0) t.other_instructions_per_k -= 8.0 / p.BK;
}

// What adding up over groups of warps and gathering rows of D take.
void set_end(Traits& t, const Params& p) {
  const int tile_wavefronts = 2 * p.BM * p.BN / 32;  // stored and loaded
  t.end_barriers = p.WARPS_K > 1 ? 2 : 0;
  t.end_wavefronts = (p.WARPS_K - 1) * tile_wavefronts;
  if (p.LINES == 0 || p.CLUSTER != 0 || access_widths(p).cd > 1) return;
  ++t.end_barriers;
  t.end_wavefronts += tile_wavefronts;
}

// Medians over 187 kernels of sm_90 (CUDA 13.0). Where groups of warps share the last sum, its
// registers are few, and what else takes some is freed before it.
int registers_estimate(const Params& p) {
  const auto of_copy = [&](int edge, bool along_k, int type) {
    return is_async(p, along_k) ? 0 : edge * p.BK * type_bytes(type) / 4 / threads(p);
  };
  const int staged = of_copy(p.BM, a_along_k(p), p.TYPE_A) + of_copy(p.BN, b_along_k(p), p.TYPE_B);
  const bool alone = p.WARPS_K == 1;
  // Where every warp multiplies all k steps of a slice the compiler loads operands ahead by itself.
  const int fragments = alone ? 2 : p.FRAGMENTS;
  const int tail = p.TAIL == 0 ? 0 : alone ? 16 : 5;
  const int others = 38 + (alone && p.ASYNC != 0 ? 8 : 0) + (p.SPLIT_K > 1 ? 4 : 0) + tail;
  return others + p.TM * p.TN + fragments * (p.TM + p.TN) + staged;
}

Traits traits(const Params& p) {
  Traits t = tile_traits({p.BM, p.BN, p.BK, p.TM, p.TN}, threads(p), smem_bytes(p));
  t.threads_along_k = p.WARPS_K;
  t.stages = p.STAGES;
  t.slices_in_registers = p.STAGES == 1 ? 1 : 0;
  t.vec = p.VEC;
  t.vecs = p.VECS;
  t.predicated = p.PRED != 0;
  t.repack = p.REPACK != 0;
  t.reduce = p.REDUCE != 0;
  t.batch_kind = static_cast<BatchKind>(p.POINTERS);
  t.signature.a = static_cast<ElementType>(p.TYPE_A);
  t.signature.b = static_cast<ElementType>(p.TYPE_B);
  t.split_k = p.SPLIT_K;
  t.tail_ctas_per_sm = p.TAIL;
  t.cluster_ctas = p.CLUSTER != 0 ? p.SPLIT_K : 1;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.async_copy = p.ASYNC != 0;
  t.barriers_per_tile_k = p.STAGES == 1 ? 2 : 1;
  t.unrolled_k = steps(p);
  t.feeds_ahead = p.FRAGMENTS > 1;
  // A group of warps does its share of a slice's k steps; per k step of the slice a warp does less.
  // lane_row() and lane_col() make two wavefronts of each load of 16 bytes per lane.
  t.feed_instructions_per_k = 1.0 * (p.TM + p.TN) / kGroup / p.WARPS_K;
  t.feed_wavefronts_per_k = 2 * t.feed_instructions_per_k;
  set_copies(t, p);
  set_end(t, p);
  t.registers_estimate = registers_estimate(p);
  t.is_corrected = true;
  t.least_ctas_per_sm = p.CTAS;
  return t;
}

std::vector<ParamDecl<Params>> tile_params() {
  return {
      {"CLUSTER", &Params::CLUSTER, {0, 1}, "1: the SPLIT_K CTAs of a tile form a cluster"},
      tile_m_param("BM", &Params::BM, {16, 32, 64, 96, 128, 192, 256}),
      tile_n_param("BN", &Params::BN, {32, 64, 96, 128, 192, 256}),
      tile_k_param("BK", &Params::BK, {8, 16, 32}),
      {"WM", &Params::WM, {16, 32, 64, 128}, "warp tile rows"},
      {"WN", &Params::WN, {16, 32, 64, 128}, "warp tile columns"},
      thread_m_param("TM", &Params::TM, {4, 8, 16}),
      thread_n_param("TN", &Params::TN, {4, 8, 16}),
      {"WARPS_K", &Params::WARPS_K, {1, 2, 4, 8}, "groups of warps that share a slice's k steps"}};
}

std::vector<ParamDecl<Params>> pipeline_params() {
  return {
      stages_param("STAGES", &Params::STAGES, {1, 2, 3, 4, 5}),
      {"ASYNC",
       &Params::ASYNC,
       {0, 1, 2},
       "cp.async: 0 for none, 1 for both operands, 2 for those not transposed"},
      {"FRAGMENTS", &Params::FRAGMENTS, {1, 2}, "2: operands are loaded one k step ahead"},
      vector_width_param("VEC", &Params::VEC),
      {"RASTER", &Params::RASTER, {8}, "tile rows walked side by side"},
      {"CTAS", &Params::CTAS, {1, 2}, "resident CTAs per SM the compiler must allow"},
      split_k_param("SPLIT_K", &Params::SPLIT_K, {1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 66, 132},
                    "CTAs that share a tile; 66 and 132 fill an H100"),
      {"TAIL", &Params::TAIL, {0, 1, 2, 3}, "CTAs per SM that share a ragged last wave; 0: none"},
      transposed_a_param("TA", &Params::TA),
      transposed_b_param("TB", &Params::TB),
      predicated_param("PRED", &Params::PRED)};
}

std::vector<ParamDecl<Params>> params_with_default_values() {
  return {repack_param("REPACK", &Params::REPACK),
          {"LINES",
           &Params::LINES,
           {0, 1},
           "1: copies and stores of 4 bytes go along whole lines, warp by warp",
           Role::tunable,
           0,
           SearchScope::where_vec_is_1},
          vector_widths_param("VECS", &Params::VECS),
          // On an H100: 7 % faster with VECS at 512x50257x768, 0.3 % at 4096x4096x4096 with VEC=4
          // for all.
          {"STEPPED",
           &Params::STEPPED,
           {0, 1},
           "1: one offset leads through the stages of A and B",
           Role::tunable,
           0,
           SearchScope::where_vector_widths_may_differ},
          // Elsewhere shares are few and small, and half of the space would be for nothing.
          {"REDUCE",
           &Params::REDUCE,
           {0, 1},
           "1: a reduction kernel adds up the shares of tiles, on all SMs",
           Role::tunable,
           0,
           SearchScope::where_k_is_large,
           true},
          pointers_param("POINTERS", &Params::POINTERS),
          type_a_param("TYPE_A", &Params::TYPE_A),
          type_b_param("TYPE_B", &Params::TYPE_B)};
}

std::vector<ParamDecl<Params>> all_params() {
  std::vector<ParamDecl<Params>> all = tile_params();
  for (const auto& more : {pipeline_params(), params_with_default_values()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// A thread of the reduction kernel adds up the shares of kReduceSums elements: the grid's x counts
// the CTAs of a tile, y the tiles that are shared.
Grid reduction_grid(const LaunchRecipe& recipe, const Problem& problem, int sm_count) {
  constexpr long long kOfCta = kReduceThreads * kReduceSums;
  const long long tile_elements = static_cast<long long>(recipe.tile_m) * recipe.tile_n;
  const LaunchProblem launched = launch_problem(problem);
  const long long shared =
      recipe.split_k > 1 ? tiles_of(recipe, launched) : tail_cut(recipe, launched, sm_count).tiles;
  return {(tile_elements + kOfCta - 1) / kOfCta, shared, problem.batch};
}

LaunchPlan plan(Values values, const Problem& problem, int sm_count) {
  const Params p = params_of<Params>(values);
  const LaunchRecipe recipe = launch_recipe(traits(p));
  LaunchPlan plan = product_plan(recipe, problem, sm_count);
  if (p.REDUCE == 0) return plan;
  const Grid grid = reduction_grid(recipe, problem, sm_count);
  if (grid.ctas() > 0) plan.steps.push_back(same_arguments(plan, "reduce", grid, kReduceThreads));
  return plan;
}

// 64 x 64 tiles waste little on small edges. cp.async is not used: sm_75 lacks it.
std::optional<std::vector<int>> untuned(const Signature& signature, int) {
  const Params p{.CLUSTER = 0,
                 .BM = 64,
                 .BN = 64,
                 .BK = 16,
                 .WM = 32,
                 .WN = 32,
                 .TM = 8,
                 .TN = 4,
                 .WARPS_K = 1,
                 .STAGES = 2,
                 .ASYNC = 0,
                 .FRAGMENTS = 2,
                 .VEC = 4,
                 .RASTER = 8,
                 .CTAS = 1,
                 .SPLIT_K = 1,
                 .TAIL = 0,
                 .TA = 0,
                 .TB = 0,
                 .PRED = 1,
                 .TYPE_A = static_cast<int>(signature.a),
                 .TYPE_B = static_cast<int>(signature.b)};
  const bool is_served = reject(p) == nullptr && traits(p).signature == signature;
  return is_served ? std::optional(values_of(p)) : std::nullopt;
}

// Rungs of the ladder.
std::vector<Rung> rungs() {
  return {
      {"warp tiles",
       "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=8,WM=32,WN=64,TM=8,TN=8,"
       "WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,"
       "PRED="
       "0",
       "a warp's lanes lie 4 x 8: each load of a fragment takes the fewest passes"},
      {"warp tiles, 8x16 a thread",
       "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
       "WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,"
       "PRED="
       "0",
       "24 values serve 128 FFMAs: fewer loads from shared memory for each"},
      {"two stages, cp.async for B",
       "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
       "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=1,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,"
       "PRED="
       "0",
       "the next slice comes while this one is multiplied: half the barriers"},
      {"two fragments",
       "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
       "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=1,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,"
       "PRED="
       "0",
       "a k step's operands are loaded while the step before is multiplied"},
      {"rows of tiles side by side",
       "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
       "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,"
       "PRED="
       "0",
       "CTAs that run together share slices of A and B in the L2"},
      {"shared tail",
       "warp_tiled/CLUSTER=0,BM=128,BN=256,BK=8,WM=32,WN=128,TM=8,TN=16,"
       "WARPS_K=1,STAGES=2,ASYNC=2,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=1,TA=0,TB=0,"
       "PRED="
       "0",
       "the last wave's tiles are cut along K, so that no SM waits for the end"},
  };
}

}  // namespace

// One warp adds up all of K in rising order, unless groups of warps or CTAs share it.
std::optional<std::string> order_of_sums(Values values) {
  const Params p = params_of<Params>(values);
  const bool is_shared = p.WARPS_K > 1 || p.SPLIT_K > 1 || p.TAIL != 0 || p.REDUCE != 0;
  return is_shared ? std::nullopt : std::optional<std::string>("rising");
}

KernelFamily family() {
  KernelFamily family =
      make_family<Params>("warp_tiled", /*revision=*/2,
                          "CTA, warp and thread tiles, multi-stage copies, work shared along K",
                          all_params(), rules().list, &reject, &traits);
  family.is_fastest_at_widest_vec = true;
  family.rungs = rungs();
  family.untuned = untuned;
  family.plan = plan;
  family.compile_seconds = 1;
  family.representatives = representatives();
  return family;
}

}  // namespace gemm_tune::warp_tiled
