// SPDX-License-Identifier: Apache-2.0
// The family wgmma as the host sees it: launch, cost and search space.
#include "kernel_templates/family.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/launch/launch_plan.h"
#include "core/problem/problem.h"
#include "core/types/signature.h"
#include "kernel_templates/device/sum/reduce_shape.cuh"
#include "kernel_templates/matrix_maps.h"
#include "kernel_templates/persistent_ctas.h"
#include "kernel_templates/product_plan.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/wgmma/args.cuh"
#include "kernel_templates/wgmma/pack_args.cuh"
#include "kernel_templates/wgmma/params.cuh"

namespace gemm_tune::wgmma {
namespace {

constexpr Accuracy kClassOfF32 = Accuracy::tf32;

BoxLoads box_loads(const Params& p, int tile, bool along_k, int ctas) {
  if (along_k) return {tile, kLineBytes, ctas};
  return {kBK * blocks_across(tile), block_width(tile) * element_bytes(p), ctas};
}

Traits traits(const Params& p) {
  Traits t;
  t.signature = signature_of(static_cast<ElementType>(p.AB), static_cast<ElementType>(p.CD));
  if (t.signature.accuracy == Accuracy::fp32) t.signature.accuracy = kClassOfF32;
  t.least_sm = t.only_sm = 90;
  t.threads = threads(p);
  t.tile_m = p.SWAP != 0 ? p.BN : p.BM;
  t.tile_n = p.SWAP != 0 ? p.BM : p.BN;
  t.tile_k = block_k(p);
  t.stages = stages(p);
  t.warpgroup_columns = p.BN;
  t.promoted_k = promotes(p) ? promoted_k(p) : 0;
  t.alternates = p.PINGPONG != 0;
  t.stores_transposed = p.SWAP != 0;
  t.reduce = t.cuts_tiles = p.REDUCE != 0;
  t.smem_bytes = smem_bytes(p);
  t.vec = kMapBytes / element_bytes(p);
  t.pack = packs(p);
  if (has_own_alignment_of_d(p)) {
    t.alignment_ab = packs(p) ? 1 : t.vec;
    t.alignment_cd = alignment_of_d(p);
  }
  t.predicated = true;
  t.repack = p.REPACK != 0;
  t.split_k = p.SPLIT_K;
  t.serial_shares = has_serial_shares(p) ? p.K_SHARES : 1;
  t.cluster_ctas = cluster_ctas(p);
  t.loads_a = box_loads(p, p.BM, left_along_k(p), p.CLUSTER_N);
  t.loads_b = box_loads(p, p.BN, right_along_k(p), p.CLUSTER_M);
  if (p.SWAP != 0) std::swap(t.loads_a, t.loads_b);
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  // As ptxas counts: what setmaxnreg moves between warpgroups is none of its business.
  t.registers_estimate = min_of(255, kAllRegisters / threads(p) / 8 * 8);
  return t;
}

constexpr int kStoredBytes = 2;  // of an element of D that the copy engine stores

// of_b: B, else A. tile: its extent beside K, which `parts` CTAs deal out.
TensorMapSlot operand_map(const Params& p, const Problem& problem, const ProductOperands& operands,
                          bool of_b, bool along_k, int tile, int parts) {
  const int bytes = element_bytes(p);
  const int length = along_k ? block_k(p) : block_width(tile);
  const int rows = (along_k ? tile : kBK) / parts;
  const CallValue address = of_b ? operands.b : operands.a;
  const std::optional<std::int64_t> ld = of_b ? operands.ldb : operands.lda;
  if (packs(p) && ld) {
    const std::int64_t lines = of_b ? problem.N : problem.M;
    TensorMapSlot slot = matrices_map(
        address, {bytes, problem.K, lines, problem.batch, length, rows, length * bytes});
    slot.map.stride_bytes = {*ld * bytes, *ld * bytes * lines};
    return slot;
  }
  TensorMapSlot slot =
      matrices_map(address, {bytes, of_b ? row_length_b(problem) : row_length_a(problem),
                             of_b ? rows_b(problem) : rows_a(problem), problem.batch, length, rows,
                             length * bytes});
  set_distances(slot, of_b ? CallValue::ldb : CallValue::lda,
                of_b ? CallValue::stride_b : CallValue::stride_a, bytes);
  if (ld) {  // of a copy
    slot.strides[0] = {};
    slot.map.stride_bytes[0] = *ld * bytes;
  }
  return slot;
}

// Adds regions for lines of A and B, and the step that packs them.
ProductOperands add_packing(LaunchPlan& plan, const Params& p, const Problem& problem) {
  constexpr std::int64_t kAlignment = 256;
  const int bytes = element_bytes(p);
  const std::int64_t chunk = kChunkBytes / bytes;
  PackArgs args = {};
  args.K = static_cast<int>(problem.K);
  args.chunks = static_cast<int>(
      std::max<std::int64_t>(copied_row_bytes(problem.K * bytes) / kChunkBytes, 1));
  ProductOperands operands;
  operands.k = problem.K;
  std::vector<Slot> slots;
  Step step;
  const auto add = [&](PackedMatrix& matrix, std::size_t at, CallValue from, CallValue ld,
                       CallValue stride, std::int64_t lines, bool along_k) {
    const int of_cta = lines_of_cta(along_k, bytes), chunks = chunks_of_cta(along_k, bytes);
    matrix.lines = static_cast<int>(lines);
    matrix.groups = static_cast<int>((lines + of_cta - 1) / of_cta);
    step.grid.x += problem.batch * matrix.groups;
    step.grid.y = std::max<std::int64_t>(step.grid.y, (args.chunks + chunks - 1) / chunks);
    const CallValue to =
        plan.add_region(problem.batch * lines * args.chunks * kChunkBytes, kAlignment);
    plan.regions.back().copy_of = from;
    slots.push_back({from, at + offsetof(PackedMatrix, from)});
    slots.push_back({to, at + offsetof(PackedMatrix, to)});
    slots.push_back({ld, at + offsetof(PackedMatrix, ld)});
    if (problem.batch > 1) slots.push_back({stride, at + offsetof(PackedMatrix, stride)});
    return to;
  };
  step.grid.x = 0;
  operands.a = add(args.a, offsetof(PackArgs, a), CallValue::A, CallValue::lda, CallValue::stride_a,
                   problem.M, a_along_k(p));
  args.ctas_a = static_cast<int>(step.grid.x);
  operands.b = add(args.b, offsetof(PackArgs, b), CallValue::B, CallValue::ldb, CallValue::stride_b,
                   problem.N, b_along_k(p));
  operands.lda = operands.ldb = args.chunks * chunk;
  step.entry = "pack";
  step.threads = kPackThreads;
  step.only_with_operands = true;
  step.arguments.add(args, slots);
  plan.steps.push_back(std::move(step));
  return operands;
}

TensorMapSlot store_map(const Params& p, const Problem& problem) {
  const bool swap = p.SWAP != 0;
  TensorMapSlot slot =
      matrices_map(CallValue::D, {kStoredBytes, problem.N, problem.M, problem.batch,
                                  swap ? kMmaM : store_columns(p),
                                  swap ? store_columns(p) : group_rows(p), store_swizzle(p)});
  set_distances(slot, CallValue::ldc, CallValue::stride_c, kStoredBytes);
  return slot;
}

// A thread of the reduction kernel has the sums of kReduceSums elements: the grid's x counts the
// CTAs of a tile, y the tiles, which are those of CTAs.
Step reduction(const Params& p, const Args& args, const std::vector<Slot>& slots) {
  Step step;
  step.entry = "reduce";
  step.grid.x = p.BM * p.BN / (kReduceThreads * kReduceSums);
  step.grid.y = args.cut_tiles * cluster_ctas(p);
  step.threads = kReduceThreads;
  step.overlaps = true;
  step.arguments.add(args, slots);
  return step;
}

struct OperandBytes {
  double a, b, d;
};

OperandBytes bytes_of_operands(const Problem& problem) {
  const auto m = static_cast<double>(problem.M), n = static_cast<double>(problem.N),
             k = static_cast<double>(problem.K), batch = static_cast<double>(problem.batch);
  return {m * k * batch * bytes_of(problem.signature.a),
          k * n * batch * bytes_of(problem.signature.b),
          m * n * batch * bytes_of(problem.signature.d)};
}

bool may_overlap(const OperandBytes& bytes) {
  return bytes.a + bytes.b + bytes.d <= kMostBytesOfOverlap;
}

// An operand that passes the L2 by while the other one stays there. The L2 of 50 MB holds one of
// 33 MB from call to call, none of 45 MB (docs/notes/kernels/wgmma_launches.md).
constexpr double kLeastStreamedBytes = 40e6, kLeastStreamedRatio = 8;
unsigned long long hint_of(double bytes, double others) {
  const bool is_streamed = bytes >= kLeastStreamedBytes && bytes >= kLeastStreamedRatio * others;
  return is_streamed ? kEvictFirst : kEvictNormally;
}

LaunchPlan plan(Values values, const Problem& problem, int sm_count) {
  const Params p = params_of<Params>(values);
  const bool swap = p.SWAP != 0;
  const int workers = clusters_at_once(sm_count, cluster_ctas(p));
  Args args = {};
  args.M = static_cast<int>(problem.M);
  args.N = static_cast<int>(problem.N);
  args.K = static_cast<int>(problem.K);
  args.rows = swap ? args.N : args.M;
  args.cols = swap ? args.M : args.N;
  const int row_tiles = (args.rows - 1) / (p.BM * p.CLUSTER_M) + 1;
  const int col_tiles = (args.cols - 1) / (p.BN * p.CLUSTER_N) + 1;
  args.tiles =
      tile_raster(row_tiles, col_tiles, static_cast<int>(problem.batch),
                  raster_group(p.BM * p.CLUSTER_M, p.BN * p.CLUSTER_N, row_tiles, workers));
  const OperandBytes bytes = bytes_of_operands(problem);
  args.left_hint = swap ? hint_of(bytes.b, bytes.a) : hint_of(bytes.a, bytes.b);
  args.right_hint = swap ? hint_of(bytes.a, bytes.b) : hint_of(bytes.b, bytes.a);
  const int tiles = tiles_of(args.tiles);

  LaunchPlan plan;
  const ProductOperands operands =
      packs(p) ? add_packing(plan, p, problem)
               : add_pre_pass(
                     plan,
                     repacked_operands(launch_recipe(traits(p)), launch_problem(problem), sm_count),
                     problem);
  Step step;
  step.grid.x = p.SPLIT_K > 1 ? tiles : std::min(tiles, workers);
  step.grid.y = step.cluster.y = cluster_ctas(p);
  step.threads = threads(p);
  step.smem_bytes = smem_bytes(p);
  step.overlaps = may_overlap(bytes);
  static_assert(offsetof(Args, beta) == offsetof(Args, alpha) + sizeof(float));
  std::vector<Slot> slots = {{CallValue::alpha_beta, offsetof(Args, alpha)},
                             {CallValue::D, offsetof(Args, D)},
                             {CallValue::C, offsetof(Args, C)},
                             {CallValue::ldc, offsetof(Args, ldd)},
                             {CallValue::stride_c, offsetof(Args, stride_d)}};
  if (p.REDUCE != 0) {
    const CutTiles cut = cut_tiles(tiles, workers, (problem.K + block_k(p) - 1) / block_k(p));
    args.cut_tiles = static_cast<int>(cut.tiles);
    args.parts = cut.parts;
    step.grid.x = std::min<std::int64_t>(tiles + cut.tiles * (cut.parts - 1), workers);
    if (cut.tiles > 0) {
      const std::int64_t sums = cut.tiles * cut.parts * step.cluster.ctas() * p.BM * p.BN;
      slots.push_back({plan.add_region(sums * static_cast<std::int64_t>(sizeof(float))),
                       offsetof(Args, partials)});
    }
  }
  add_epilogue_slots(slots, offsetof(Args, operands), problem);
  step.arguments.add_tensor_map(
      operand_map(p, problem, operands, swap, left_along_k(p), p.BM, p.CLUSTER_N));
  step.arguments.add_tensor_map(
      operand_map(p, problem, operands, !swap, right_along_k(p), p.BN, p.CLUSTER_M));
  if (store_by(p) == StoreBy::boxes) {
    step.arguments.add_tensor_map(store_map(p, problem));
  } else {
    step.arguments.add(TensorMap{});
  }
  step.arguments.add(args, slots);
  plan.steps.push_back(std::move(step));
  if (args.cut_tiles > 0) plan.steps.push_back(reduction(p, args, slots));
  return plan;
}

// 128 x 128 where two warpgroups take turns is within 4 % of the best from 2048 up; the others fill
// waves that it leaves empty, or save work on small edges.
constexpr Params with_tile(int bm, int bn, int groups, bool is_pingpong, bool swap = false,
                           int type = kTypeBf16) {
  return {.AB = type,
          .CD = type,
          .BM = bm,
          .BN = bn,
          .GROUPS = groups,
          .PINGPONG = is_pingpong,
          .SWAP = swap,
          .TA = 0,
          .TB = 0};
}

std::optional<std::vector<int>> untuned(const Signature& signature, int sm) {
  Params p = with_tile(128, 128, 2, true);
  p.AB = static_cast<int>(signature.a);
  if (promotes(p)) p.PINGPONG = 0;  // twice as many sums
  p.CD = static_cast<int>(signature.d);
  const bool is_served = reject(p) == nullptr && traits(p).signature == signature;
  return sm == 90 && is_served ? std::optional(values_of(p)) : std::nullopt;
}

}  // namespace

// The instructions of a share along K follow one another in rising k, and so do shares, which end
// at the same k whether CTAs of a cluster have one each or a CTA has all. The number of tiles, so
// M, decides which of them REDUCE cuts.
std::optional<std::string> order_of_sums(Values values) {
  const Params p = params_of<Params>(values);
  if (p.REDUCE != 0 || !adds_in_order(p)) return std::nullopt;
  std::string order = promotes(p) ? "PROMOTE=" + std::to_string(promoted_k(p)) : "rising";
  if (shares(p) > 1) order += ",K_SHARES=" + std::to_string(shares(p));
  return order;
}

KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "wgmma", /*revision=*/4,
      "Hopper's tensor cores by wgmma and TMA, 16-bit operands, tf32 or e4m3, sums in fp32",
      {{"AB",
        &Params::AB,
        {0, 1, 2, 3},
        "type of A and B: 0 for f32, rounded to tf32, 1 for f16, 2 for bf16, 3 for e4m3",
        Role::type_ab},
       {"CD",
        &Params::CD,
        {0, 1, 2},
        "type of C and D: 0 for f32, 1 for f16, 2 for bf16",
        Role::type_cd},
       {"BM", &Params::BM, {64, 128, 192, 256}, "CTA tile rows of the left operand"},
       {"BN",
        &Params::BN,
        {16, 32, 64, 72, 80, 96, 112, 128, 144, 160, 176, 192, 208, 256},
        "CTA tile columns of the right operand"},
       {"GROUPS", &Params::GROUPS, {1, 2, 3}, "warpgroups that multiply"},
       {"PINGPONG", &Params::PINGPONG, {0, 1}, "1: each has a tile of its own; 0: they share one"},
       {"CLUSTER_M",
        &Params::CLUSTER_M,
        {1, 2, 4},
        "CTAs that share the right operand's loads",
        Role::tunable,
        1},
       {"CLUSTER_N",
        &Params::CLUSTER_N,
        {1, 2, 4},
        "CTAs that share the left operand's loads",
        Role::tunable,
        1},
       {"SPLIT_K",
        &Params::SPLIT_K,
        {1, 2, 4},
        "CTAs of a cluster that share a tile along K",
        Role::tunable,
        1},
       {"REDUCE",
        &Params::REDUCE,
        {0, 1},
        "1: tiles of a ragged wave are cut along K, and a reduction kernel adds up the parts",
        Role::tunable,
        0,
        SearchScope::everywhere,
        true},
       {"SWAP",
        &Params::SWAP,
        {0, 1},
        "1: the left operand is B, the right one A",
        Role::tunable,
        0},
       repack_param("REPACK", &Params::REPACK),
       {"PROMOTE",
        &Params::PROMOTE,
        {0},
        "k of e4m3 whose sums are added in fp32 at once: 32, 64 or, by 0, 128",
        Role::tunable,
        0},
       {"DIRECT",
        &Params::DIRECT,
        {0, 1},
        "1: threads store D, whose rows may be of any alignment",
        Role::tunable,
        0,
        SearchScope::where_d_is_unaligned},
       {"K_SHARES",
        &Params::K_SHARES,
        {0, 2, 4},
        "shares along K that a CTA adds up one after another; with SPLIT_K: a cluster's, likewise",
        Role::tunable,
        0,
        SearchScope::in_one_order},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB)},
      rules().list, &reject, &traits);
  family.accuracy = kClassOfF32;
  family.plan = plan;
  family.takes_gemm_args = false;
  family.representatives = values_of(
      {with_tile(128, 128, 2, true), with_tile(128, 192, 2, true), with_tile(192, 128, 2, true),
       with_tile(256, 128, 2, false), with_tile(128, 256, 2, false), with_tile(128, 128, 1, false),
       with_tile(192, 96, 1, false), with_tile(64, 128, 1, false), with_tile(128, 64, 1, false),
       with_tile(64, 64, 1, false), with_tile(64, 32, 1, false), with_tile(64, 16, 1, false),
       with_tile(64, 32, 1, false, true), with_tile(64, 16, 1, false, true)});
  family.untuned = untuned;
  family.compile_seconds = 1;
  return family;
}

}  // namespace gemm_tune::wgmma
