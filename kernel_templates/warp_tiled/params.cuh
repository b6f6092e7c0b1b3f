// SPDX-License-Identifier: Apache-2.0
// The parameters of warp_tiled (kernel.cuh), what follows from them, and the rules that they obey.
// Read by host, NVRTC and emulator alike.
#pragma once

#include "kernel_templates/device/copy/slice_map.cuh"
#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/device/element/vector_widths.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::warp_tiled {

struct Params {
  int CLUSTER, BM, BN, BK, WM, WN, TM, TN, WARPS_K, STAGES, ASYNC, FRAGMENTS, VEC, RASTER, CTAS,
      SPLIT_K, TAIL, TA, TB, PRED;
  int REPACK = 0, LINES = 0, VECS = 0, STEPPED = 0, REDUCE = 0, POINTERS = 0, TYPE_A = 0,
      TYPE_B = 0;
};

constexpr int kGroup = 4;  // a thread's rows and columns come in groups of neighbours

constexpr int lanes_m(const Params& p) { return p.WM / p.TM; }
constexpr int lanes_n(const Params& p) { return p.WN / p.TN; }
constexpr int warps_n(const Params& p) { return p.BN / p.WN; }
constexpr int warps_mn(const Params& p) { return p.BM / p.WM * warps_n(p); }
constexpr int threads_mn(const Params& p) { return 32 * warps_mn(p); }
constexpr int threads(const Params& p) { return threads_mn(p) * p.WARPS_K; }
constexpr int cluster_ctas(const Params& p) { return p.CLUSTER != 0 ? p.SPLIT_K : 1; }
// k steps of a slice that one warp multiplies.
constexpr int steps(const Params& p) { return p.BK / p.WARPS_K; }

// Whether k runs along a stored row, so that a slice is transposed on its way to shared memory.
constexpr bool a_along_k(const Params& p) { return p.TA == 0; }
constexpr bool b_along_k(const Params& p) { return p.TB != 0; }
constexpr bool is_async(const Params& p, bool along_k) {
  return p.ASYNC == 1 || (p.ASYNC == 2 && !along_k);
}
// cp.async copies bytes, and widens none.
constexpr bool widens_async(const Params& p) {
  return (p.TYPE_A != kTypeF32 && is_async(p, a_along_k(p))) ||
         (p.TYPE_B != kTypeF32 && is_async(p, b_along_k(p)));
}
// Elements per global access of A, of B, and of C and D.
constexpr VectorWidths access_widths(const Params& p) {
  if (p.VECS == 0) return {p.VEC, p.VEC, p.VEC};
  return vector_widths(p.VECS);
}
constexpr int widest_access(const Params& p) {
  const VectorWidths widths = access_widths(p);
  return max_of(max_of(widths.a, widths.b), widths.cd);
}
// Elements per access of a copy, vec elsewhere: cp.async cannot transpose more than one.
constexpr int copy_vec(const Params& p, int vec, bool along_k) {
  return along_k && is_async(p, along_k) ? 1 : vec;
}
// Floats from one k to the next in shared memory.
constexpr int slice_ld(int edge, bool along_k) { return edge + (along_k ? kTransposePad : 0); }
constexpr int a_ld(const Params& p) { return slice_ld(p.BM, a_along_k(p)); }
constexpr int b_ld(const Params& p) { return slice_ld(p.BN, b_along_k(p)); }
constexpr int stage_floats(const Params& p) {
  return smem_floats(p.STAGES * p.BK * a_ld(p)) + smem_floats(p.STAGES * p.BK * b_ld(p));
}
// The same memory then takes what groups of warps add to each other's sums.
constexpr int exchange_floats(const Params& p) { return (p.WARPS_K - 1) * p.BM * p.BN; }
constexpr int smem_bytes(const Params& p) {
  const int tile = p.CLUSTER != 0 ? p.BM * p.BN : 0;  // for the others of a cluster to read
  return max_of(stage_floats(p), max_of(exchange_floats(p), tile)) * int(sizeof(float));
}

// Where a lane stands in its warp tile. Neighbouring lanes share their rows, lanes that differ by 2
// their columns: then a load of either fragment takes half the passes (kernel_templates/cost.h).
constexpr int lane_row(const Params& p, int lane) { return lane / 2 % lanes_m(p); }
constexpr int lane_col(const Params& p, int lane) { return lane % 2 + lane / (2 * lanes_m(p)) * 2; }
// Offset in the warp tile of element i of a thread's t rows (or columns), of which there are
// `lanes` along that edge.
constexpr int element_offset(int lanes, int lane, int i) {
  return (i / kGroup * lanes + lane) * kGroup + i % kGroup;
}

// Whether slices are dealt out evenly, also in the specialisations with narrower accesses.
constexpr bool deals_evenly(const Params& p, int edge, bool along_k) {
  for (int vec = copy_vec(p, widest_access(p), along_k); vec > 0; vec /= 2) {
    if (!is_dealt_evenly(edge, p.BK, threads(p), vec, along_k)) return false;
  }
  return true;
}
constexpr int most_passes(const Params& p, int edge) {
  return copy_passes(edge, p.BK, threads(p), 1);
}

// Accumulators, fragments, and what addresses and counts were never seen to take less than.
constexpr int least_registers(const Params& p) {
  return p.TM * p.TN + p.FRAGMENTS * (p.TM + p.TN) + 16;
}

constexpr bool is_width(int elements) { return elements == 1 || elements == 2 || elements == 4; }

// Whether VECS is 0 or has widths that differ, the least of which is VEC.
constexpr bool is_with_vec(const Params& p) {
  if (p.VECS == 0) return true;
  const VectorWidths widths = vector_widths(p.VECS);
  return is_width(widths.a) && is_width(widths.b) && is_width(widths.cd) &&
         (widths.a != widths.b || widths.b != widths.cd) &&
         p.VEC == min_of(min_of(widths.a, widths.b), widths.cd);
}

// Whether an operand's copy would be wider than VEC but for cp.async, which makes it one by one.
constexpr bool widens_single_copies(const Params& p) {
  const VectorWidths widths = access_widths(p);
  return is_async(p, true) &&
         ((a_along_k(p) && widths.a > p.VEC) || (b_along_k(p) && widths.b > p.VEC));
}

constexpr auto rules() {
  return rules_of<Params>({
      {"thread tile is not in groups of four", "TM TN",
       [](const Params& p) { return p.TM % kGroup != 0 || p.TN % kGroup != 0; }},
      {"registers hold no fragments beside the accumulators", "TM TN FRAGMENTS",
       [](const Params& p) { return least_registers(p) > 255; }},
      {"thread tile does not divide warp tile", "WM TM",
       [](const Params& p) { return p.WM % p.TM != 0; }},
      {"thread tile does not divide warp tile", "WN TN",
       [](const Params& p) { return p.WN % p.TN != 0; }},
      {"warp tile is not that of 4 x 8 or 8 x 4 lanes", "WM WN TM TN",
       [](const Params& p) {
         return lanes_m(p) * lanes_n(p) != 32 || (lanes_m(p) != 4 && lanes_m(p) != 8);
       }},
      undivided_rows<Params>(),
      undivided_columns<Params>(),
      {"more than 512 threads per CTA", "BM BN WM WN WARPS_K",
       [](const Params& p) { return threads(p) > 512; }},
      {"an SM's registers do not hold the accumulators of CTAS CTAs",
       "BM BN WM WN TM TN WARPS_K FRAGMENTS CTAS",
       [](const Params& p) { return least_registers(p) * threads(p) * p.CTAS > 65536; }},
      {"groups of warps do not divide the thread tile's rows", "TM WARPS_K",
       [](const Params& p) { return p.TM % p.WARPS_K != 0; }},
      {"warps along K do not divide a slice's pairs of k steps", "BK WARPS_K",
       [](const Params& p) { return p.BK % (2 * p.WARPS_K) != 0; }},
      {"main loop beyond 2048 unrolled multiplications", "BK TM TN WARPS_K",
       [](const Params& p) { return steps(p) * p.TM * p.TN > 2048; }},
      {"one stage needs copies through registers", "STAGES ASYNC",
       [](const Params& p) { return p.STAGES == 1 && p.ASYNC != 0; }},
      {"more than two stages need cp.async", "STAGES ASYNC",
       [](const Params& p) { return p.STAGES > 2 && p.ASYNC == 0; }},
      {"one stage needs single fragments", "STAGES FRAGMENTS",
       [](const Params& p) { return p.STAGES == 1 && p.FRAGMENTS != 1; }},
      {"nothing to transpose: ASYNC = 2 is ASYNC = 1", "ASYNC TA TB",
       [](const Params& p) { return p.ASYNC == 2 && p.TA != 0 && p.TB == 0; }},
      {"a tile is shared by SPLIT_K or by TAIL, not by both", "SPLIT_K TAIL",
       [](const Params& p) { return p.SPLIT_K > 1 && p.TAIL != 0; }},
      {kBadCluster, "CLUSTER SPLIT_K TAIL",
       [](const Params& p) {
         return p.CLUSTER != 0 && (p.SPLIT_K < 2 || p.SPLIT_K > kMostClusterCtas || p.TAIL != 0);
       }},
      {"VECS needs three digits of 1, 2 and 4 that differ, VEC the least of them", "VEC VECS",
       [](const Params& p) { return !is_with_vec(p); }},
      {"slice of A is not dealt out evenly to the threads",
       "BM BN BK WM WN WARPS_K ASYNC VEC TA VECS",
       [](const Params& p) { return !deals_evenly(p, p.BM, a_along_k(p)); }},
      {"slice of B is not dealt out evenly to the threads",
       "BM BN BK WM WN WARPS_K ASYNC VEC TB VECS",
       [](const Params& p) { return !deals_evenly(p, p.BN, b_along_k(p)); }},
      {"more than 32 accesses per thread for a slice", "BM BN BK WM WN WARPS_K",
       [](const Params& p) { return most_passes(p, max_of(p.BM, p.BN)) > 32; }},
      {"LINES needs VEC=1", "VEC LINES",
       [](const Params& p) { return p.LINES != 0 && p.VEC != 1; }},
      {"VECS needs REPACK=0", "REPACK VECS",
       [](const Params& p) { return p.VECS != 0 && p.REPACK != 0; }},
      {"VECS widens copies that cp.async makes one by one", "ASYNC VEC TA TB VECS",
       [](const Params& p) { return widens_single_copies(p); }},
      {"REDUCE needs shares outside of a cluster: SPLIT_K or TAIL, and CLUSTER=0",
       "CLUSTER SPLIT_K TAIL REDUCE",
       [](const Params& p) {
         return p.REDUCE != 0 && (p.CLUSTER != 0 || (p.SPLIT_K == 1 && p.TAIL == 0));
       }},
      {kNoPointersToCopy, "REPACK POINTERS",
       [](const Params& p) { return p.REPACK != 0 && p.POINTERS != 0; }},
      at_most_one_widened<Params>(),
      mixed_are_not_copied<Params>(),
      {"cp.async does not widen elements of 16 bits", "ASYNC TA TB TYPE_A TYPE_B",
       [](const Params& p) { return widens_async(p); }},
      {"LINES copies elements of 4 bytes", "LINES TYPE_A TYPE_B",
       [](const Params& p) { return p.LINES != 0 && p.TYPE_A != p.TYPE_B; }},
  });
}

constexpr const char* reject(const Params& p) {
  if (!is_tile_size(p.BM) || !is_tile_size(p.BN) || !is_tile_size(p.BK) || !is_tile_size(p.WM) ||
      !is_tile_size(p.WN) || !is_tile_size(p.TM) || !is_tile_size(p.TN))
    return kBadTileSize;
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4) return "VEC must be 1, 2 or 4";
  if (p.WARPS_K < 1 || p.WARPS_K > 16) return "WARPS_K must lie between 1 and 16";
  if (p.STAGES < 1 || p.STAGES > 8) return "STAGES must lie between 1 and 8";
  if (p.ASYNC < 0 || p.ASYNC > 2) return "ASYNC must be 0, 1 or 2";
  if (p.FRAGMENTS != 1 && p.FRAGMENTS != 2) return "FRAGMENTS must be 1 or 2";
  if (p.RASTER < 1 || p.RASTER > 64) return "RASTER must lie between 1 and 64";
  if (p.CTAS < 1 || p.CTAS > 16) return "CTAS must lie between 1 and 16";
  if (p.SPLIT_K < 1 || p.SPLIT_K > 1024) return "SPLIT_K must lie between 1 and 1024";
  if (p.TAIL < 0 || p.TAIL > 16) return "TAIL must lie between 0 and 16";
  if (p.VECS < 0 || p.VECS > 444) return "VECS must lie between 0 and 444";
  if (!is_flag(p.CLUSTER) || !is_flag(p.TA) || !is_flag(p.TB) || !is_flag(p.PRED))
    return "CLUSTER, TA, TB and PRED must be 0 or 1";
  if (!is_flag(p.REPACK) || !is_flag(p.LINES) || !is_flag(p.STEPPED) || !is_flag(p.REDUCE) ||
      !is_flag(p.POINTERS))
    return "REPACK, LINES, STEPPED, REDUCE and POINTERS must be 0 or 1";
  if (!is_widened_type(p.TYPE_A) || !is_widened_type(p.TYPE_B)) return kBadWidenedType;
  return first_broken(rules(), p);
}

}  // namespace gemm_tune::warp_tiled
