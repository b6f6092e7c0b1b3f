// SPDX-License-Identifier: Apache-2.0
// warp_tiled: C = alpha * op(A) * op(B) + beta * C on CUDA cores, tiled for CTAs, warps and
// threads.
//
// A CTA computes BM x BN in slices of BK that lie in STAGES buffers of shared memory, both operands
// there with k running from row to row; a warp WM x WN, a thread TM x TN in groups of four that are
// dealt out across the warp tile. WARPS_K groups of warps share the k steps of a slice. ASYNC says
// which operands cp.async brings: none, all, or those that need no transposing on the way; the
// others pass through registers. FRAGMENTS = 2 loads a k step's operands while the one before is
// multiplied. RASTER tile rows are walked side by side, CTAS is the resident CTAs per SM that the
// compiler must allow. SPLIT_K CTAs share a tile along K, with CLUSTER as a cluster; TAIL, for so
// many CTAs at once on each SM, cuts the tiles of a ragged last wave. TA and TB pick the layout,
// PRED the edge handling: 1 for any shape, 0 for multiples of the tile. LINES = 1, for accesses of
// 4 bytes: a warp's copies and its stores of D go along whole lines.
#pragma once

#include "kernel_templates/device/slice_map.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::warp_tiled {

struct Params {
  int CLUSTER, BM, BN, BK, WM, WN, TM, TN, WARPS_K, STAGES, ASYNC, FRAGMENTS, VEC, RASTER, CTAS,
      SPLIT_K, TAIL, TA, TB, PRED;
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
// Elements per global access; cp.async cannot transpose more than one.
constexpr int copy_vec(const Params& p, bool along_k) {
  return along_k && is_async(p, along_k) ? 1 : p.VEC;
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

// Whether slices are dealt out evenly, also in the twins with narrower accesses.
constexpr bool deals_evenly(const Params& p, int edge, bool along_k) {
  for (int vec = copy_vec(p, along_k); vec > 0; vec /= 2) {
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

constexpr Rule<Params> kRules[] = {
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
    {"warp tile does not divide CTA tile", "BM WM",
     [](const Params& p) { return p.BM % p.WM != 0; }},
    {"warp tile does not divide CTA tile", "BN WN",
     [](const Params& p) { return p.BN % p.WN != 0; }},
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
    {"slice of A is not dealt out evenly to the threads", "BM BN BK WM WN WARPS_K ASYNC VEC TA",
     [](const Params& p) { return !deals_evenly(p, p.BM, a_along_k(p)); }},
    {"slice of B is not dealt out evenly to the threads", "BM BN BK WM WN WARPS_K ASYNC VEC TB",
     [](const Params& p) { return !deals_evenly(p, p.BN, b_along_k(p)); }},
    {"more than 32 accesses per thread for a slice", "BM BN BK WM WN WARPS_K",
     [](const Params& p) { return most_passes(p, max_of(p.BM, p.BN)) > 32; }},
};

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
  if (!is_flag(p.CLUSTER) || !is_flag(p.TA) || !is_flag(p.TB) || !is_flag(p.PRED))
    return "CLUSTER, TA, TB and PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::warp_tiled

#ifdef TUNED_PARAMS

#include "kernel_templates/device/cluster_sum.cuh"
#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#ifdef TUNED_LINES
#include "kernel_templates/device/line_store.cuh"
#include "kernel_templates/device/narrow_copy.cuh"
#endif
#include "kernel_templates/device/raster.cuh"
#ifdef TUNED_REPACK
#include "kernel_templates/device/repack.cuh"
#endif
#ifdef TUNED_REDUCE
#include "kernel_templates/device/share_reduce.cuh"
#endif
#include "kernel_templates/device/share_sum.cuh"
#include "kernel_templates/device/slice_copy.cuh"
#include "kernel_templates/device/smem.cuh"
#include "kernel_templates/device/tail.cuh"
#include "kernel_templates/device/tile_store.cuh"

namespace gemm_tune::warp_tiled {

#ifdef TUNED_VECS
// The digits are the elements per access of A's copies, of B's, and of C and D. From here on VEC is
// the last of them.
constexpr Params with_vec(Params p, int vec) {
  p.VEC = vec;
  return p;
}
constexpr Params kP = with_vec(TUNED_PARAMS, TUNED_VECS % 10);
constexpr Params kOfA = with_vec(kP, TUNED_VECS / 100), kOfB = with_vec(kP, TUNED_VECS / 10 % 10);
static_assert(reject(kOfA) == nullptr && reject(kOfB) == nullptr);
#else
constexpr Params kP = TUNED_PARAMS;
#endif
static_assert(reject(kP) == nullptr);
static_assert(has_its_cluster(cluster_ctas(kP)),
              "clusters need sm_90, and TUNED_CLUSTER says of how many CTAs");
constexpr bool kPredicated = kP.PRED != 0;
constexpr int kStageA = kP.BK * a_ld(kP), kStageB = kP.BK * b_ld(kP);  // floats
#ifdef TUNED_STEPPED
constexpr int kStage = (kStageA + kStageB) * 4;  // bytes
__device__ inline float* bytes_on(float* p, int bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + bytes);
}
static_assert(smem_floats(kStageA) == kStageA && smem_floats(kStageB) == kStageB);
#endif
constexpr bool kAnyAsync = is_async(kP, a_along_k(kP)) || is_async(kP, b_along_k(kP));

#ifdef TUNED_LINES
// Whether NarrowCopy copies an operand.
constexpr bool copies_narrow(const Params& p, int edge, bool along_k) {
  return p.VEC == 1 && (along_k || warps_of_row(edge, p.BK, threads(p)) > 0);
}
#ifdef TUNED_VECS
template <bool NARROW, int EDGE, bool ALONG_K, int LD, int VEC>
struct CopyOf {
  using Type =
      SliceCopy<EDGE, kP.BK, threads(kP), VEC, ALONG_K, is_async(kP, ALONG_K), kPredicated, LD>;
};
template <int EDGE, bool ALONG_K, int LD, int VEC>
struct CopyOf<true, EDGE, ALONG_K, LD, VEC> {
  using Type =
      NarrowCopy<EDGE, kP.BK, threads(kP), ALONG_K, is_async(kP, ALONG_K), kPredicated, LD>;
};
using CopyA = CopyOf<copies_narrow(kOfA, kP.BM, a_along_k(kP)), kP.BM, a_along_k(kP), a_ld(kP),
                     copy_vec(kOfA, a_along_k(kP))>::Type;
using CopyB = CopyOf<copies_narrow(kOfB, kP.BN, b_along_k(kP)), kP.BN, b_along_k(kP), b_ld(kP),
                     copy_vec(kOfB, b_along_k(kP))>::Type;
#else
template <bool NARROW, int EDGE, bool ALONG_K, int LD>
struct CopyOf {
  using Type = SliceCopy<EDGE, kP.BK, threads(kP), copy_vec(kP, ALONG_K), ALONG_K,
                         is_async(kP, ALONG_K), kPredicated, LD>;
};
template <int EDGE, bool ALONG_K, int LD>
struct CopyOf<true, EDGE, ALONG_K, LD> {
  using Type =
      NarrowCopy<EDGE, kP.BK, threads(kP), ALONG_K, is_async(kP, ALONG_K), kPredicated, LD>;
};
using CopyA = CopyOf<copies_narrow(kP, kP.BM, a_along_k(kP)), kP.BM, a_along_k(kP), a_ld(kP)>::Type;
using CopyB = CopyOf<copies_narrow(kP, kP.BN, b_along_k(kP)), kP.BN, b_along_k(kP), b_ld(kP)>::Type;
#endif
#else
#ifdef TUNED_VECS
using CopyA = SliceCopy<kP.BM, kP.BK, threads(kP), copy_vec(kOfA, a_along_k(kP)), a_along_k(kP),
                        is_async(kP, a_along_k(kP)), kPredicated, a_ld(kP)>;
using CopyB = SliceCopy<kP.BN, kP.BK, threads(kP), copy_vec(kOfB, b_along_k(kP)), b_along_k(kP),
                        is_async(kP, b_along_k(kP)), kPredicated, b_ld(kP)>;
#else
using CopyA = SliceCopy<kP.BM, kP.BK, threads(kP), copy_vec(kP, a_along_k(kP)), a_along_k(kP),
                        is_async(kP, a_along_k(kP)), kPredicated, a_ld(kP)>;
using CopyB = SliceCopy<kP.BN, kP.BK, threads(kP), copy_vec(kP, b_along_k(kP)), b_along_k(kP),
                        is_async(kP, b_along_k(kP)), kPredicated, b_ld(kP)>;
#endif
#endif

// A thread's place in the CTA: which warp tile, which part of it, and which k steps of a slice.
struct Place {
  int row, col;  // of the warp tile in the CTA tile
  int lane_m, lane_n;
  int k;  // the first of its steps

  explicit __device__ Place(int thread) {
    const int warp = thread / 32 % warps_mn(kP);
    row = warp / warps_n(kP) * kP.WM;
    col = warp % warps_n(kP) * kP.WN;
    lane_m = lane_row(kP, thread % 32);
    lane_n = lane_col(kP, thread % 32);
    k = kP.WARPS_K > 1 ? thread / threads_mn(kP) * steps(kP) : 0;
  }
};

// A thread's operands of one k step.
struct Fragments {
  float a[kP.TM], b[kP.TN];

  __device__ void load(const float* a_row, const float* b_row) {
    load_groups<kP.TM, lanes_m(kP)>(a, a_row);
    load_groups<kP.TN, lanes_n(kP)>(b, b_row);
  }

  template <int T, int LANES>
  static __device__ void load_groups(float (&fragment)[T], const float* row) {
#pragma unroll
    for (int i = 0; i < T; i += kGroup) {
      const Vec<kGroup> v = load_vec<kGroup>(row + i * LANES);
#pragma unroll
      for (int j = 0; j < kGroup; ++j) fragment[i + j] = v.x[j];
    }
  }
};

struct Sums {
  float x[kP.TM][kP.TN];

  // Back and forth along the rows: the column that a row ends with is still at hand for the next.
  __device__ void multiply(const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kP.TM; ++i) {
#pragma unroll
      for (int n = 0; n < kP.TN; ++n) {
        const int j = i % 2 == 0 ? n : kP.TN - 1 - n;
        x[i][j] += f.a[i] * f.b[j];
      }
    }
  }
};

// A range of k of one tile: brings its slices in and multiplies them.
class Segment {
 public:
  __device__ Segment(const GemmArgs& args, TileOrigin origin, KRange k, float* a_smem,
                     float* b_smem, const Place& place)
      : a_copy_(a_along_k(kP) ? args.A + origin.row * args.lda + k.begin
                              : args.A + k.begin * args.lda + origin.row,
                args.lda, args.M - origin.row),
        b_copy_(b_along_k(kP) ? args.B + origin.col * args.ldb + k.begin
                              : args.B + k.begin * args.ldb + origin.col,
                args.ldb, args.N - origin.col),
        a_smem_(a_smem),
        b_smem_(b_smem),
        a_read_(place.k * a_ld(kP) + place.row + place.lane_m * kGroup),
        b_read_(place.k * b_ld(kP) + place.col + place.lane_n * kGroup),
        slices_((k.end - k.begin + kP.BK - 1) / kP.BK),
        to_copy_(slices_) {}

  // K: of the segment.
  __device__ void multiply(Sums& sums, int K) {
    if constexpr (kP.STAGES == 1) {
      multiply_one_stage(sums, K);
    } else {
      start(K);
      if constexpr (kP.FRAGMENTS == 1) {
        multiply_single_fragments(sums);
      } else {
        multiply_double_fragments(sums);
      }
    }
  }

 private:
  // The first slice's way into a stage: a short one if K is ragged.
  __device__ void begin_first_copy(int K) {
    const int k_count = kPredicated && K > 0 ? (K - 1) % kP.BK + 1 : K;
    a_copy_.begin_first(a_smem_, k_count);
    b_copy_.begin_first(b_smem_, k_count);
    --to_copy_;
  }
  // The next slice's way into a stage: what cp.async does not bring waits in registers.
  __device__ void begin_copy() {
#ifdef TUNED_STEPPED
    a_copy_.begin(bytes_on(a_smem_, write_), to_copy_ > 0);
    b_copy_.begin(bytes_on(b_smem_, write_), to_copy_ > 0);
#else
    a_copy_.begin(a_smem_ + write_ * kStageA, to_copy_ > 0);
    b_copy_.begin(b_smem_ + write_ * kStageB, to_copy_ > 0);
#endif
    --to_copy_;
  }
  __device__ void finish_copy() {
#ifdef TUNED_STEPPED
    a_copy_.finish(bytes_on(a_smem_, write_));
    b_copy_.finish(bytes_on(b_smem_, write_));
  }
  // read_ and write_ are offsets of stages. The stage that was read before the one to read is the
  // next to be written.
  __device__ void next_write() {}
  __device__ void next_read() {
    write_ = read_;
    read_ = read_ == (kP.STAGES - 1) * kStage ? 0 : read_ + kStage;
  }
#else
    a_copy_.finish(a_smem_ + write_ * kStageA);
    b_copy_.finish(b_smem_ + write_ * kStageB);
  }
  __device__ void next_write() { write_ = write_ + 1 == kP.STAGES ? 0 : write_ + 1; }
  __device__ void next_read() { read_ = read_ + 1 == kP.STAGES ? 0 : read_ + 1; }
#endif

  static __device__ void commit() {
    if constexpr (kAnyAsync) commit_copies();
  }
  // The next stage to read is whole, for all threads, and the last one read is free.
  static __device__ void synchronise() {
    if constexpr (kAnyAsync) wait_copies<kP.STAGES - 2>();
    __syncthreads();
  }

  // Where a thread's operands of the stage to read begin. Kept while a slice is multiplied, so that
  // every step is a constant away.
  struct Stage {
    const float *a, *b;

    __device__ void load(Fragments& f, int step) const {
      f.load(a + step * a_ld(kP), b + step * b_ld(kP));
    }
  };
  __device__ Stage stage() const {
#ifdef TUNED_STEPPED
    return {bytes_on(a_smem_ + a_read_, read_), bytes_on(b_smem_ + b_read_, read_)};
#else
    return {a_smem_ + (read_ * kStageA + a_read_), b_smem_ + (read_ * kStageB + b_read_)};
#endif
  }

  // All stages but one on their way, the first of them there.
  __device__ void start(int K) {
#pragma unroll
    for (int stage = 0; stage < kP.STAGES - 1; ++stage) {
      if (stage == 0) {
        begin_first_copy(K);
      } else {
        begin_copy();
      }
      finish_copy();
#ifdef TUNED_STEPPED
      write_ += kStage;
#else
      next_write();
#endif
      commit();
    }
#ifndef TUNED_STEPPED
    write_ = kP.STAGES - 1;
#endif
    synchronise();
  }

  __device__ void multiply_slice(Sums& sums) const {
    const Stage from = stage();
    Fragments f;
#pragma unroll
    for (int step = 0; step < steps(kP); ++step) {
      from.load(f, step);
      sums.multiply(f);
    }
  }

  __device__ void multiply_one_stage(Sums& sums, int K) {
    begin_first_copy(K);
    for (int slice = 0; slice < slices_; ++slice) {
      __syncthreads();  // the stage is free
      finish_copy();
      __syncthreads();
      begin_copy();
      multiply_slice(sums);
    }
  }

  __device__ void multiply_single_fragments(Sums& sums) {
    for (int slice = 0; slice < slices_; ++slice) {
      begin_copy();
      commit();
      multiply_slice(sums);
      finish_copy();
      next_write();
      next_read();
      synchronise();
    }
  }

  __device__ void multiply_double_fragments(Sums& sums) {
    Fragments f[2];
    Stage from = stage();
    from.load(f[0], 0);
    for (int slice = 0; slice < slices_; ++slice) {
#pragma unroll
      for (int step = 0; step < steps(kP); ++step) {
        Fragments& next = f[(step + 1) % 2];
        if (step + 1 < steps(kP)) {
          from.load(next, step + 1);
        } else {
          // Everything of this slice is in registers: its last multiplications hide the barrier.
          finish_copy();
          next_write();
          next_read();
          synchronise();
          from = stage();
          from.load(next, 0);
        }
        if (step == 0) {
          begin_copy();
          commit();
        }
        sums.multiply(f[step % 2]);
      }
    }
  }

  CopyA a_copy_;
  CopyB b_copy_;
  float* const a_smem_;
  float* const b_smem_;
  const int a_read_, b_read_;  // a thread's first element in a slice
  const int slices_;
  int to_copy_;  // slices that have not set out yet
  int read_ = 0, write_ = 0;
};

// What a thread has of C once the groups of warps have added up: the rows of its thread tile that
// are its group's, all of them if there is one group only.
constexpr int kOwnRows = kP.TM / kP.WARPS_K;
struct OwnSums {
  float x[kOwnRows][kP.TN];
};

// Adds up over the groups of warps, in order from one's own on. buffer: exchange_floats() of them.
// Element by element, as in ShareSum.
__device__ inline OwnSums add_warps_k(const Sums& sums, float* buffer) {
  constexpr int kOthers = kP.WARPS_K - 1;
  const int thread = static_cast<int>(threadIdx.x) % threads_mn(kP);
  const int group = static_cast<int>(threadIdx.x) / threads_mn(kP);
  // Where the rows of one group lie that another brings, the `turn`-th after it.
  const auto place = [&](int owner, int turn) {
    return buffer + (owner * kOthers + turn - 1) * (kOwnRows * kP.TN * threads_mn(kP)) + thread;
  };
  OwnSums own;
#pragma unroll
  for (int g = 0; g < kP.WARPS_K; ++g) {
    if (group != g) continue;
#pragma unroll
    for (int turn = 1; turn <= kOthers; ++turn) {
      const int owner = (g + kP.WARPS_K - turn) % kP.WARPS_K;
      float* const to = place(owner, turn);
#pragma unroll
      for (int i = 0; i < kOwnRows * kP.TN; ++i) {
        to[i * threads_mn(kP)] = sums.x[owner * kOwnRows + i / kP.TN][i % kP.TN];
      }
    }
#pragma unroll
    for (int i = 0; i < kOwnRows * kP.TN; ++i) {
      own.x[i / kP.TN][i % kP.TN] = sums.x[g * kOwnRows + i / kP.TN][i % kP.TN];
    }
  }
  if constexpr (kOthers > 0) __syncthreads();
#pragma unroll
  for (int turn = 1; turn <= kOthers; ++turn) {
    const float* const from = place(group, turn);
#pragma unroll
    for (int i = 0; i < kOwnRows * kP.TN; ++i) {
      own.x[i / kP.TN][i % kP.TN] += from[i * threads_mn(kP)];
    }
  }
  return own;
}

using Shares = ShareSum<threads(kP), kOwnRows * kP.TN>;
using Cluster = ClusterSum<threads(kP), kOwnRows * kP.TN, kP.VEC, kP.SPLIT_K>;
#ifdef TUNED_REDUCE
static_assert(kP.CLUSTER == 0 && (kP.SPLIT_K > 1 || kP.TAIL != 0));
using Reduced = ShareReduce<threads(kP), kOwnRows * kP.TN>;
#endif

__device__ inline int first_own_row(int thread) { return thread / threads_mn(kP) * kOwnRows; }

__device__ inline void store(const OwnSums& sums, const GemmArgs& args, TileOrigin origin,
                             const Place& place) {
  const int first = first_own_row(static_cast<int>(threadIdx.x));
  store_thread_tile<kP.VEC, kPredicated>(
      sums.x, args,
      [&](int i) {
        return origin.row + place.row + element_offset(lanes_m(kP), place.lane_m, first + i);
      },
      [&](int j) { return origin.col + place.col + element_offset(lanes_n(kP), place.lane_n, j); });
}

#ifdef TUNED_LINES
// Sums on their way to D: a warp gathers some of its threads' rows in shared memory, so that its
// stores write whole sectors of D. In a gathered row element c of all lanes' groups comes ahead of
// element c + 1, and rows are a row of lanes longer: then neither the lanes' stores nor their loads
// of neighbouring columns share a bank.
constexpr int gathered_ld(const Params& p) { return p.WN + lanes_n(p); }
constexpr int gathered_column(const Params& p, int col) {
  const int group = lanes_n(p) * kGroup;
  return col / group * group + col % kGroup * lanes_n(p) + col % group / kGroup;
}
// Of each thread one row at a time.
constexpr int gathered_floats(const Params& p) {
  return threads(p) / 32 * lanes_m(p) * gathered_ld(p);
}
// Where the memory that is there anyway has room for them.
constexpr bool gathers_rows(const Params& p) {
  return p.CLUSTER == 0 && (p.WN % 32 == 0 || 32 % p.WN == 0) &&
         gathered_floats(p) * int(sizeof(float)) <= smem_bytes(p);
}

// Rows of each thread that a warp gathers at once: as many as fit, up to a group.
constexpr int gathered_rows() {
  int rows = min_of(kGroup, kOwnRows);
  while (rows > 1 && (kOwnRows % rows != 0 ||
                      rows * gathered_floats(kP) * int(sizeof(float)) > smem_bytes(kP))) {
    --rows;
  }
  return rows;
}

// The same as store() by way of `buffer`, for accesses of 4 bytes: a store of a warp then writes
// neighbouring elements of D, where store() would write a part of many sectors. Element by element,
// as in ShareSum.
__device__ inline void store_gathered(const OwnSums& sums, const GemmArgs& args, TileOrigin origin,
                                      const Place& place, float* buffer) {
  constexpr int kLd = gathered_ld(kP), kRows = gathered_rows();
  // Lanes, then passes, along a gathered row; rows of a pass, and passes.
  constexpr int kLanes = min_of(32, kP.WN), kCols = kP.WN / kLanes;
  constexpr int kAtOnce = 32 / kLanes, kPasses = lanes_m(kP) / kAtOnce;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int first = first_own_row(thread);
  const int row = origin.row + place.row + lane / kLanes * kGroup;
  const int col = origin.col + place.col + lane % kLanes;
  float* const gathered = buffer + thread / 32 * (kRows * lanes_m(kP) * kLd);
  const float* const from = gathered + lane / kLanes * kLd + gathered_column(kP, lane % kLanes);
  __syncthreads();  // nobody reads the buffer any more
#pragma unroll
  for (int begin = 0; begin < kOwnRows; begin += kRows) {
    if (begin > 0) __syncwarp();  // the rows before have left
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float* const to = gathered + (i * lanes_m(kP) + place.lane_m) * kLd;
#pragma unroll
      for (int j = 0; j < kP.TN; ++j) {
        to[gathered_column(kP, element_offset(lanes_n(kP), place.lane_n, j))] =
            sums.x[begin + i][j];
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float line[kPasses][kCols];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) {
          line[pass][j] = from[(i * lanes_m(kP) + pass * kAtOnce) * kLd + j * kLanes];
        }
      }
      store_lines<kPredicated>(line, args, row + element_offset(lanes_m(kP), 0, first + begin + i),
                               kAtOnce * kGroup, col, kLanes);
    }
  }
}
#endif

// Sums i to i + VEC - 1 of any thread's OwnSums.
__device__ inline void store_part(int thread, int i, const Vec<kP.VEC>& sums, const GemmArgs& args,
                                  TileOrigin origin) {
  const Place place(thread);
  const int in_m = element_offset(lanes_m(kP), place.lane_m, first_own_row(thread) + i / kP.TN);
  const int in_n = element_offset(lanes_n(kP), place.lane_n, i % kP.TN);
  const int row = origin.row + place.row + in_m, col = origin.col + place.col + in_n;
  if (kPredicated && !in_bounds(row, args.M)) return;
  store_d<kP.VEC, kPredicated>(args, row, col, sums);
}

__device__ inline TilePiece piece_of(const GemmArgs& args, int K) {
  if constexpr (kP.TAIL != 0) return tile_piece<kP.BM, kP.BN>(args, K);
  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const int number = static_cast<int>(gridDim.x * blockIdx.z) + tile;  // of all the batch's tiles
  return {tile, share_of_k<kP.BK, kP.SPLIT_K>(K, share), share, kP.SPLIT_K, number};
}

extern "C" __global__ void GT_CLUSTER(cluster_ctas(kP)) __launch_bounds__(threads(kP), kP.CTAS)
    gemm(const GemmArgs all) {
  const GemmArgs args = batch_entry(all);
  SharedMemory smem;
  float* const buffer = smem.take(smem_bytes(kP) / static_cast<int>(sizeof(float)));
  float* const a_smem = buffer;  // [STAGES][BK][a_ld]
#ifdef TUNED_STEPPED
  float* const b_smem = buffer + kStageA;  // the stages of A and B in turn
#else
  float* const b_smem = buffer + smem_floats(kP.STAGES * kStageA);  // [STAGES][BK][b_ld]
#endif
  const Place place(static_cast<int>(threadIdx.x));
  const int K = reduction_length(args);

  const TilePiece piece = piece_of(args, K);
  const TileOrigin origin = raster_origin<kP.BM, kP.BN, kP.RASTER>(piece.tile, args);
  Sums sums = {};
  Segment(args, origin, piece.k, a_smem, b_smem, place).multiply(sums, piece.k.end - piece.k.begin);
  if constexpr (kP.WARPS_K > 1) __syncthreads();  // nobody reads the stages any more
  OwnSums own = add_warps_k(sums, buffer);
  if constexpr (kP.CLUSTER != 0) {
    Cluster::add(&own.x[0][0], buffer, piece.share, [&](int thread, int i, const Vec<kP.VEC>& v) {
      store_part(thread, i, v, args, origin);
    });
    return;
  }
  if constexpr (kP.SPLIT_K > 1 || kP.TAIL != 0) {
#ifdef TUNED_REDUCE
    if (piece.shares > 1) {
      Reduced::leave(&own.x[0][0], args.partials, piece.cut * piece.shares + piece.share);
      return;
    }
#else
    if (piece.shares > 1 &&
        !Shares::add(&own.x[0][0], args.partials, args.counters + piece.cut * (piece.shares + 1),
                     piece.share, piece.shares,
                     [&](int share) { return piece.cut * piece.shares + share; }))
      return;
#endif
  }
#ifdef TUNED_LINES
#ifdef TUNED_VECS
  if constexpr (kP.VEC == 1 && gathers_rows(kP)) {
#else
  if constexpr (gathers_rows(kP)) {
#endif
    store_gathered(own, args, origin, place, buffer);
  } else {
    store(own, args, origin, place);
  }
#else
  store(own, args, origin, place);
#endif
}

#ifdef TUNED_REDUCE
// The grid's x counts parts of a tile, y the tiles that are shared, z the batch.
extern "C" __global__ void __launch_bounds__(kReduceThreads, kReduceCtas)
    reduce(const GemmArgs all) {
  const GemmArgs args = batch_entry(all);
  const int unit = static_cast<int>(blockIdx.x) * kReduceThreads + static_cast<int>(threadIdx.x);
  int tile = static_cast<int>(blockIdx.y), shares = kP.SPLIT_K;
  if constexpr (kP.TAIL != 0) {
    tile += ((args.M - 1) / kP.BM + 1) * ((args.N - 1) / kP.BN + 1) - static_cast<int>(gridDim.y);
    shares = (args.K - 1) / args.piece_k + 1;
  }
  const int cut = static_cast<int>(gridDim.y * blockIdx.z + blockIdx.y);
  const Vec<kReduceSums> sums = Reduced::sum_up(args.partials, cut * shares, shares, unit);
  const TileOrigin origin = raster_origin<kP.BM, kP.BN, kP.RASTER>(tile, args);
#pragma unroll
  for (int i = 0; i < kReduceSums; i += kP.VEC) {
    Vec<kP.VEC> part;
#pragma unroll
    for (int j = 0; j < kP.VEC; ++j) part.x[j] = sums.x[i + j];
    store_part(Reduced::thread_of(unit), Reduced::first_of(unit) + i, part, args, origin);
  }
}
#endif

}  // namespace gemm_tune::warp_tiled

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::warp_tiled {

// Of a cp.async of single floats along a line: two lines of the matrix and one of shared memory.
// Where the floats do not lie along lines, slice_copy_cost() says 32.
constexpr double kLineWavefronts = 3;

// What the copies of A and B cost and demand with accesses of these widths. tests_edges: whether
// the machine code does in the main loop.
inline void set_copies(Traits& t, const Params& p, const VectorWidths& widths, bool tests_edges,
                       bool has_lines = false) {
  const auto width = [&](int vec, bool along_k) {
    return along_k && is_async(p, along_k) ? 1 : vec;
  };
  const int a = width(widths.a, a_along_k(p)), b = width(widths.b, b_along_k(p));
  t.vector_multiple_m = !a_along_k(p) ? a : 1;
  t.vector_multiple_n = !b_along_k(p) ? b : 1;
  t.vector_multiple_k = max_of(a_along_k(p) ? a : 1, b_along_k(p) ? b : 1);
  const auto cost = [&](int edge, int vec, bool along_k) {
    const AccessCost any =
        slice_copy_cost(edge, p.BK, threads(p), vec, along_k, is_async(p, along_k));
    if (!has_lines || vec > 1 || along_k || !is_async(p, along_k)) return any;
    return AccessCost{any.instructions, kLineWavefronts * any.instructions};
  };
  const AccessCost fill = cost(p.BM, a, a_along_k(p)) + cost(p.BN, b, b_along_k(p));
  t.fill_instructions_per_tile_k = fill.instructions;
  t.fill_wavefronts_per_tile_k = fill.wavefronts;
  const double loads =
      copy_passes(p.BM, p.BK, threads(p), a) + copy_passes(p.BN, p.BK, threads(p), b);
  t.other_instructions_per_k = overhead_per_k(p.BK, p.BK, loads, tests_edges);
}

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.tile_k = p.BK;
  t.thread_m = p.TM;
  t.thread_n = p.TN;
  t.threads_along_k = p.WARPS_K;
  t.stages = p.STAGES;
  t.smem_bytes = smem_bytes(p);
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.split_k = p.SPLIT_K;
  t.tail_ctas_per_sm = p.TAIL;
  t.cluster = p.CLUSTER != 0;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.async_copy = p.ASYNC != 0;
  t.barriers_per_tile_k = p.STAGES == 1 ? 2 : 1;
  t.unrolled_k = steps(p);
  t.feeds_ahead = p.FRAGMENTS > 1;
  t.end_barriers = p.WARPS_K > 1 ? 2 : 0;
  t.end_wavefronts = (p.WARPS_K - 1) * 2 * p.BM * p.BN / 32;  // stored and loaded

  // A group of warps does its share of a slice's k steps; per k step of the slice a warp does less.
  // lane_row() and lane_col() make two wavefronts of each load of 16 bytes per lane.
  t.feed_instructions_per_k = 1.0 * (p.TM + p.TN) / kGroup / p.WARPS_K;
  t.feed_wavefronts_per_k = 2 * t.feed_instructions_per_k;
  set_copies(t, p, {p.VEC, p.VEC, p.VEC}, t.predicated);
  const double staged = (is_async(p, a_along_k(p)) ? 0.0 : p.BM * p.BK / threads(p)) +
                        (is_async(p, b_along_k(p)) ? 0.0 : p.BN * p.BK / threads(p));
  // Medians over 187 kernels of sm_90 (CUDA 13.0). Where groups of warps share the last sum, its
  // registers are few, and what else takes some is freed before it.
  const bool alone = p.WARPS_K == 1;
  // Where every warp multiplies all k steps of a slice the compiler loads operands ahead by itself.
  const int fragments = alone ? 2 : p.FRAGMENTS;
  const int others = 38 + (alone && p.ASYNC != 0 ? 8 : 0) + (p.SPLIT_K > 1 ? 4 : 0) +
                     (p.TAIL == 0 ? 0
                      : alone     ? 16
                                  : 5);
  t.registers_estimate =
      static_cast<int>(others + p.TM * p.TN + fragments * (p.TM + p.TN) + staged);
  t.least_ctas_per_sm = p.CTAS;
  return t;
}

inline Params params_of(Values values) {
  Params p;
  std::memcpy(&p, values.data(), sizeof p);
  return p;
}

inline KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "warp_tiled", "CTA, warp and thread tiles, multi-stage copies, work shared along K",
      {{"CLUSTER", &Params::CLUSTER, {0, 1}, "1: the SPLIT_K CTAs of a tile form a cluster"},
       {"BM", &Params::BM, {16, 32, 64, 96, 128, 192, 256}, "CTA tile rows"},
       {"BN", &Params::BN, {32, 64, 96, 128, 192, 256}, "CTA tile columns"},
       {"BK", &Params::BK, {8, 16, 32}, "K elements per slice in shared memory"},
       {"WM", &Params::WM, {16, 32, 64, 128}, "warp tile rows"},
       {"WN", &Params::WN, {16, 32, 64, 128}, "warp tile columns"},
       {"TM", &Params::TM, {4, 8, 16}, "thread tile rows"},
       {"TN", &Params::TN, {4, 8, 16}, "thread tile columns"},
       {"WARPS_K", &Params::WARPS_K, {1, 2, 4, 8}, "groups of warps that share a slice's k steps"},
       {"STAGES", &Params::STAGES, {1, 2, 3, 4, 5}, "slices in shared memory"},
       {"ASYNC",
        &Params::ASYNC,
        {0, 1, 2},
        "cp.async: 0 for none, 1 for both operands, 2 for those not transposed"},
       {"FRAGMENTS", &Params::FRAGMENTS, {1, 2}, "2: operands are loaded one k step ahead"},
       vector_width_param("VEC", &Params::VEC),
       {"RASTER", &Params::RASTER, {8}, "tile rows walked side by side"},
       {"CTAS", &Params::CTAS, {1, 2}, "resident CTAs per SM the compiler must allow"},
       {"SPLIT_K",
        &Params::SPLIT_K,
        {1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 66, 132},
        "CTAs that share a tile; 66 and 132 fill an H100"},
       {"TAIL", &Params::TAIL, {0, 1, 2, 3}, "CTAs per SM that share a ragged last wave; 0: none"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
  ParamSpec lines = {
      "LINES", {0, 1}, "1: copies and stores of 4 bytes go along whole lines, warp by warp"};
  lines.only_with_vec = 1;
  const std::size_t lines_position = family.params.size();
  add_later_param(family, std::move(lines), 1, [](Traits& t, int value) {
    if (value == 0) return;
    // Predicates take the place of edge tests and of an address for each copied float: the machine
    // code has 60 to 80 instructions beside copies and products in a slice of 128 x 128 x 16.
    const double loads = copy_passes(t.tile_m, t.tile_k, t.threads, 1) +
                         copy_passes(t.tile_n, t.tile_k, t.threads, 1);
    t.other_instructions_per_k = overhead_per_k(t.tile_k, t.tile_k, loads, false);
    const auto along_line = [&](int edge, bool along_k) {
      if (along_k || !t.async_copy) return;
      const AccessCost apart = slice_copy_cost(edge, t.tile_k, t.threads, 1, false, true);
      t.fill_wavefronts_per_tile_k += kLineWavefronts * apart.instructions - apart.wavefronts;
    };
    along_line(t.tile_m, !t.transposed_a);
    along_line(t.tile_n, t.transposed_b);
    if (t.cluster) return;
    ++t.end_barriers;
    t.end_wavefronts += 2 * t.tile_m * t.tile_n / 32;  // stored and loaded
  });
  add_vector_widths_param(family, [lines_position](Traits& t, Values values, int vecs) {
    const VectorWidths widths = vector_widths(vecs);
    const bool has_lines = values[lines_position] != 0;
    set_copies(t, params_of(values), widths, t.predicated && !has_lines, has_lines);
    if (!has_lines || t.cluster || widths.cd == 1) return;
    --t.end_barriers;  // store() writes vectors
    t.end_wavefronts -= 2 * t.tile_m * t.tile_n / 32;
  });
  const std::size_t vecs_position = family.params.size() - 1;
  std::vector<std::size_t> reads;
  for (const char* name : {"ASYNC", "VEC", "TA", "TB"}) {
    reads.push_back(family.find_param(name).value());
  }
  reads.push_back(vecs_position);
  add_rule(family, "VECS widens copies that cp.async makes one by one", std::move(reads),
           [vecs_position](Values values) {
             if (values[vecs_position] == 0) return false;
             const Params p = params_of(values);
             const VectorWidths widths = vector_widths(values[vecs_position]);
             return (a_along_k(p) && is_async(p, true) && widths.a > p.VEC) ||
                    (b_along_k(p) && is_async(p, true) && widths.b > p.VEC);
           });
  ParamSpec stepped = {"STEPPED", {0, 1}, "1: one offset leads through the stages of A and B"};
  // On an H100: 7 % faster with VECS at 512x50257x768, 0.3 % at 4096x4096x4096 with VEC=4 for all.
  stepped.only_searched_with_vector_widths = true;
  // By counts in the SASS of 12 configs: 4 to 12 less, more of them where accesses are wide.
  add_later_param(family, std::move(stepped), 1, [](Traits& t, int value) {
    constexpr double kFewer = 8;  // instructions for addresses in a slice
    if (value != 0) t.other_instructions_per_k -= kFewer / t.tile_k;
  });
  add_reduce_param(family);
  family.is_fastest_at_widest_vec = true;
  // 64 x 64 tiles waste little on small edges. cp.async is not used: sm_75 lacks it.
  family.untuned = [](const Signature& signature, int) -> std::optional<std::vector<int> > {
    if (signature != Signature()) return std::nullopt;
    return values_of(Params{.CLUSTER = 0,
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
                            .PRED = 1});
  };
  return family;
}

}  // namespace gemm_tune::warp_tiled

#endif
