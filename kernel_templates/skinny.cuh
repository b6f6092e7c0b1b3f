// SPDX-License-Identifier: Apache-2.0
// skinny: C = alpha * op(A) * op(B) + beta * C where M or N is small: a stream past registers.
//
// Such a product reads its large operand once and does little with each element, so it is as fast
// as that stream. The large operand goes from global memory straight into registers, UNROLL steps
// ahead of their use. The small one passes through shared memory in slices, and each thread holds
// sums for all BS of its rows. All layouts: TA 1 for A stored [K,M], TB 1 for B stored [N,K].
// SKINNY_N tells which edge is the small one; C^T = B^T * A^T, so it swaps the operands' roles, and
// nothing else but the way back to C differs.
//
// What lies side by side in the large operand decides what neighbours in a warp do. Where it is the
// long edge of C, the lanes lie along that edge and the warps of a CTA take turns along K. Where it
// is K, LANES_K lanes lie along K and the warps along the edge. Sums are added up over lanes, warps
// and SPLIT_K CTAs, with CLUSTER those of a cluster, in a fixed order. PRED: 1 for any shape, 0 for
// multiples of the tile.
//
// The stream displaces itself from the L2 before anything else. Where it is larger than the L2, the
// next launch with the same operand would find nothing of it there: KEEP sixteenths of it are
// loaded like any other data, so that they stay. STAGED_FIRST = 1 sets out for the small operand's
// first slice before the stream's loads, behind which it would arrive last.
#pragma once

#include "kernel_templates/rules.h"

namespace gemm_tune::skinny {

struct Params {
  int CLUSTER, BS, TL, WARPS, LANES_K, UNROLL, VEC, SPLIT_K, SKINNY_N, TA, TB, PRED;
};

// The large operand streams: B, or A where N is skinny. The other one is staged.
constexpr bool streams_along_k(const Params& p) { return p.SKINNY_N != 0 ? p.TA == 0 : p.TB != 0; }
constexpr bool stages_along_k(const Params& p) { return p.SKINNY_N != 0 ? p.TB != 0 : p.TA == 0; }

constexpr int threads(const Params& p) { return p.WARPS * 32; }
constexpr int cluster_ctas(const Params& p) { return p.CLUSTER != 0 ? p.SPLIT_K : 1; }
constexpr int lanes_l(const Params& p) { return 32 / p.LANES_K; }
constexpr int warps_l(const Params& p) { return streams_along_k(p) ? p.WARPS : 1; }
constexpr int warps_k(const Params& p) { return streams_along_k(p) ? 1 : p.WARPS; }
// The CTA tile along the long edge.
constexpr int tile_l(const Params& p) { return warps_l(p) * lanes_l(p) * p.TL; }
// A thread's share of one step of the CTA: TL by vec_k, in vectors along one of the two.
constexpr int vec_l(const Params& p) { return streams_along_k(p) ? 1 : p.VEC; }
constexpr int vec_k(const Params& p) { return streams_along_k(p) ? p.VEC : 1; }
constexpr int pieces(const Params& p) { return p.TL / vec_l(p); }
constexpr int step_k(const Params& p) { return warps_k(p) * p.LANES_K * vec_k(p); }
constexpr int group_k(const Params& p) { return step_k(p) * p.UNROLL; }
// K elements between two barriers: whole groups, more of them where they cost few registers on
// their way into shared memory.
constexpr int slice_k(const Params& p) {
  int k = group_k(p);
  while (k < 256 && 2 * k * p.BS <= 4 * threads(p)) k *= 2;
  return k;
}

// Floats between two rows of the staged slice, [K][BS] or [BS][K] so that a vector of it meets one
// of the stream. The padding frees the stores of a slice that is transposed on its way.
constexpr int kPad = 4;
constexpr int staged_ld(const Params& p) {
  if (streams_along_k(p)) return slice_k(p) + kPad;
  return p.BS < 4 ? p.BS : p.BS + kPad;
}
constexpr int staged_floats(const Params& p) {
  return streams_along_k(p) ? p.BS * staged_ld(p) : slice_k(p) * staged_ld(p);
}
// The same memory then takes sums, [warps_k][sum_rows][sum_ld]: all rows, or as many as fit 32 KiB.
constexpr int sum_ld(const Params& p) { return tile_l(p) + kPad; }
constexpr int sum_rows(const Params& p) {
  int rows = p.BS;
  while (rows > 1 && warps_k(p) * rows * tile_l(p) > 8192) rows /= 2;
  return rows;
}
constexpr int sum_floats(const Params& p) { return warps_k(p) * sum_rows(p) * sum_ld(p); }
constexpr int buffer_floats(const Params& p) {
  const int tile = p.CLUSTER != 0 ? p.BS * tile_l(p) : 0;  // for the others of a cluster to read
  return max_of(max_of(staged_floats(p), sum_floats(p)), tile);
}
constexpr int smem_bytes(const Params& p) {
  return smem_floats(buffer_floats(p)) * int(sizeof(float));
}

// Registers of a thread, nearly: its sums, its loads under way, and the rest.
constexpr int registers(const Params& p) {
  const int other = (streams_along_k(p) ? 40 : 32) + (p.PRED != 0 ? 8 : 0);
  return other + p.BS * p.TL + p.TL * vec_k(p) * p.UNROLL;
}
constexpr int kSmRegisters = 65536;  // on every architecture
// A bound for the compiler, which otherwise spends registers on loads from shared memory far ahead,
// so that fewer warps have the stream under way. 20 warps with 96 registers each are enough.
constexpr int min_ctas_per_sm(const Params& p) {
  return max_of(1,
                min_of(kSmRegisters / (threads(p) * max_of(96, registers(p))), 512 / threads(p)));
}

constexpr Rule<Params> kRules[] = {
    {"thread tile holds more than 128 accumulators", "BS TL",
     [](const Params& p) { return p.BS * p.TL > 128; }},
    {"lanes lie along K where the large operand's rows do, and only there",
     "LANES_K SKINNY_N TA TB",
     [](const Params& p) { return (p.LANES_K > 1) != streams_along_k(p); }},
    {"vector access does not divide the thread tile", "TL VEC SKINNY_N TA TB",
     [](const Params& p) { return p.TL % vec_l(p) != 0; }},
    {"loads under way take more than 64 registers", "TL UNROLL VEC SKINNY_N TA TB",
     [](const Params& p) { return p.TL * vec_k(p) * p.UNROLL > 64; }},
    {"too few loads under way", "TL UNROLL SKINNY_N TA TB",
     [](const Params& p) { return p.TL * p.UNROLL < (streams_along_k(p) ? 4 : 16); }},
    {"CTA needs more registers than an SM has", "BS TL WARPS UNROLL VEC SKINNY_N TA TB",
     [](const Params& p) {
       Params twin = p;
       twin.PRED = 1;
       return threads(p) * registers(twin) > kSmRegisters;
     }},
    {"slice of the small operand takes more than 16 registers per thread",
     "BS WARPS LANES_K UNROLL VEC SKINNY_N TA TB",
     [](const Params& p) { return p.BS * slice_k(p) > 16 * threads(p); }},
    {"CTA tile holds fewer than four elements", "BS TL WARPS LANES_K SKINNY_N TA TB",
     [](const Params& p) { return p.BS * tile_l(p) < 4; }},
    {kBadCluster, "CLUSTER SPLIT_K",
     [](const Params& p) {
       return p.CLUSTER != 0 && (p.SPLIT_K < 2 || p.SPLIT_K > kMostClusterCtas);
     }},
};

constexpr bool is_power_of_two(int value, int most) {
  return value >= 1 && value <= most && (value & (value - 1)) == 0;
}

constexpr const char* reject(const Params& p) {
  if (!is_power_of_two(p.BS, 32) || !is_power_of_two(p.TL, 32) || !is_power_of_two(p.WARPS, 32) ||
      !is_power_of_two(p.LANES_K, 32) || !is_power_of_two(p.UNROLL, 32))
    return "BS, TL, WARPS, LANES_K and UNROLL must be powers of two up to 32";
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4) return "VEC must be 1, 2 or 4";
  if (p.SPLIT_K < 1 || p.SPLIT_K > 64) return "SPLIT_K must lie between 1 and 64";
  if (!is_flag(p.CLUSTER) || !is_flag(p.SKINNY_N) || !is_flag(p.TA) || !is_flag(p.TB) ||
      !is_flag(p.PRED))
    return "CLUSTER, SKINNY_N, TA, TB and PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::skinny

#ifdef TUNED_PARAMS

#include "kernel_templates/device/cluster_sum.cuh"
#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"
#ifdef TUNED_REPACK
#include "kernel_templates/device/repack.cuh"
#endif
#include "kernel_templates/device/share_sum.cuh"
#include "kernel_templates/device/smem.cuh"
#include "kernel_templates/device/tile_load.cuh"

namespace gemm_tune::skinny {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
static_assert(has_its_cluster(cluster_ctas(kP)),
              "clusters need sm_90, and TUNED_CLUSTER says of how many CTAs");
constexpr bool kPredicated = kP.PRED != 0;
constexpr bool kAlongK = streams_along_k(kP);
constexpr int kSums = kP.BS * kP.TL;  // of a thread: [BS][TL]

// The operands by what is done with them; s counts along the skinny edge of C, l along the long
// one.
struct Operands {
  const float *staged, *streamed;
  long long staged_ld, streamed_ld;
  int skinny, length;  // the edges of C
};

__device__ inline Operands operands(const GemmArgs& args) {
  if constexpr (kP.SKINNY_N != 0) return {args.B, args.A, args.ldb, args.lda, args.N, args.M};
  return {args.A, args.B, args.lda, args.ldb, args.M, args.N};
}

// Where a thread stands in its CTA.
struct Place {
  int warp, lane_l, lane_k;

  // Its first element in the tile, and its first in a step along K.
  __device__ int l() const {
    return (kAlongK ? warp * lanes_l(kP) * kP.TL : 0) + lane_l * vec_l(kP);
  }
  __device__ int k() const { return kAlongK ? lane_k * kP.VEC : warp; }
};

__device__ inline Place place() {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return {static_cast<int>(threadIdx.x) / 32, lane % lanes_l(kP), lane / lanes_l(kP)};
}

// From a thread's first element of the tile to element j of its TL.
__device__ constexpr int l_offset(int j) {
  return j / vec_l(kP) * (lanes_l(kP) * vec_l(kP)) + j % vec_l(kP);
}

// A thread's part of the large operand, UNROLL steps of it under way.
class Stream {
 public:
  // from: the thread's first element, at k. k_end ends the CTA's share; length_left counts from the
  // thread's first element to the end of the long edge and is read only if predicated.
  __device__ Stream(const float* from, long long ld, int k, int k_end, int length_left)
      : from_(from), ld_(ld), k_(k), k_end_(k_end), length_left_(length_left) {}

  // Puts the next step under way, in place of the one that was fetched with the same u. KEPT: as
  // data that stays in the L2.
#ifdef TUNED_KEEP
  template <bool KEPT>
#endif
  __device__ void fetch(int u) {
#pragma unroll
    for (int i = 0; i < pieces(kP); ++i) {
      const int l = l_offset(i * vec_l(kP));
      const float* p = from_ + (kAlongK ? l * ld_ : l);
      if constexpr (kPredicated) {
        const int left = kAlongK ? (in_bounds(l, length_left_) ? k_end_ - k_ : 0)
                                 : (in_bounds(k_, k_end_) ? length_left_ - l : 0);
#ifdef TUNED_KEEP
        steps_[u][i] = KEPT ? load_vec_edge<kP.VEC>(p, left) : stream_vec_edge<kP.VEC>(p, left);
#else
        steps_[u][i] = stream_vec_edge<kP.VEC>(p, left);
#endif
      } else if (in_bounds(k_, k_end_)) {
#ifdef TUNED_KEEP
        steps_[u][i] = KEPT ? load_vec<kP.VEC>(p) : stream_vec<kP.VEC>(p);
#else
        steps_[u][i] = stream_vec<kP.VEC>(p);
#endif
      }
    }
    k_ += step_k(kP);
    from_ += kAlongK ? step_k(kP) : step_k(kP) * ld_;
  }

  // The step's element j of TL and k of vec_k.
  __device__ float value(int u, int j, int k) const {
    return kAlongK ? steps_[u][j].x[k] : steps_[u][j / kP.VEC].x[j % kP.VEC];
  }

 private:
  const float* from_;
  long long ld_;
  int k_, k_end_, length_left_;
  Vec<kP.VEC> steps_[kP.UNROLL][pieces(kP)];
};

// Adds the products of step u. staged: the thread's first element of that step in the slice.
__device__ inline void multiply_step(float (&sum)[kSums], const Stream& stream, int u,
                                     const float* staged) {
  constexpr int kVec = kAlongK ? kP.VEC : vector_width(kP.BS);
  constexpr int kRows = kAlongK ? 1 : kVec;
#pragma unroll
  for (int s = 0; s < kP.BS; s += kRows) {
    const Vec<kVec> v = load_vec<kVec>(staged + (kAlongK ? s * staged_ld(kP) : s));
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int row = kAlongK ? s : s + i;
#pragma unroll
      for (int j = 0; j < kP.TL; ++j) {
        sum[row * kP.TL + j] += v.x[i] * stream.value(u, j, kAlongK ? i : 0);
      }
    }
  }
}

// Keeps the compiler from moving anything across the end of a step: it would gather the loads of a
// whole group at its end, just before they are needed. Orders nothing else.
__device__ inline void end_step() {
#ifndef GT_EMULATOR
  __syncwarp();
#endif
}

#ifdef TUNED_KEEP
// Whether a group of steps is to stay in the L2: KEEP of 16 neighbours along K or along the long
// edge, far from each other, so that L2 and DRAM are read side by side. The same ones in each
// launch.
__device__ inline bool is_kept(int group) { return group * TUNED_KEEP % 16 < TUNED_KEEP; }

// Adds the products of a group of steps and puts the next group under way. own: the thread's first
// element of the group in the slice.
template <bool KEPT>
__device__ inline void multiply_group(float (&sum)[kSums], Stream& stream, const float*& own) {
#pragma unroll
  for (int u = 0; u < kP.UNROLL; ++u) {
    multiply_step(sum, stream, u, own);
    stream.fetch<KEPT>(u);
    end_step();
    own += step_k(kP) * (kAlongK ? 1 : staged_ld(kP));
  }
}
#endif

// One slice of the small operand, from global into shared memory.
constexpr TileOrder kStagedOrder =
    stages_along_k(kP) == kAlongK ? TileOrder::row_major : TileOrder::transposed;
constexpr int kStagedRows = stages_along_k(kP) ? kP.BS : slice_k(kP);
constexpr int kStagedCols = stages_along_k(kP) ? slice_k(kP) : kP.BS;
constexpr int kStagedVec =
    kStagedOrder == TileOrder::transposed ? 1 : vector_width(kStagedCols, kP.VEC);
using StagedCopy = TileCopy<kStagedRows, kStagedCols, threads(kP), kStagedVec, kPredicated,
                            kStagedOrder, staged_ld(kP)>;

// staged: the operand's first element in the CTA's rows. Does nothing at the end of the CTA's
// share.
__device__ inline void load_slice(StagedCopy& copy, const float* staged, long long ld, int k,
                                  int k_end, int skinny_left) {
  if (!kPredicated && !in_bounds(k, k_end)) return;
  if constexpr (stages_along_k(kP)) {
    copy.load(staged + k, ld, skinny_left, k_end - k);
  } else {
    copy.load(staged + k * ld, ld, k_end - k, skinny_left);
  }
}

// Adds up sums over LANES lanes along K and deals them out: lane_k keeps COUNT / LANES of them, the
// first being lane_k * COUNT / LANES. Where lanes outnumber sums, neighbours keep the same one.
template <int COUNT, int LANES>
__device__ inline void add_lanes(float* sum, int lane_k) {
  if constexpr (LANES > 1) {
    constexpr int kHalf = COUNT / 2;
    const bool upper = (lane_k & (LANES / 2)) != 0;
    constexpr int kPeer = LANES / 2 * lanes_l(kP);  // differs in this bit of the lane's number
    const auto from_peer = [](float v) { return __shfl_xor_sync(0xffffffffu, v, kPeer); };
    if constexpr (COUNT == 1) {
      sum[0] += from_peer(sum[0]);
    } else {
#pragma unroll
      for (int i = 0; i < kHalf; ++i) {
        const float given = upper ? sum[i] : sum[i + kHalf];
        const float kept = upper ? sum[i + kHalf] : sum[i];
        sum[i] = kept + from_peer(given);
      }
    }
    add_lanes<max_of(kHalf, 1), LANES / 2>(sum, lane_k);
  }
}

// A thread's sums of rows s0 and on, to its warp's part of the buffer.
__device__ inline void store_sums(float* buffer, const float (&sum)[kSums], int s0,
                                  const Place& at) {
  if constexpr (kAlongK) {
    constexpr int kCopies = max_of(kP.LANES_K / kSums, 1);
    if (at.lane_k % kCopies != 0) return;
    const int first = at.lane_k * kSums / kP.LANES_K;
#pragma unroll
    for (int i = 0; i < max_of(kSums / kP.LANES_K, 1); ++i) {
      const int s = (first + i) / kP.TL, j = (first + i) % kP.TL;
      buffer[s * sum_ld(kP) + at.l() + l_offset(j)] = sum[i];
    }
  } else {
    float* const own = buffer + at.warp * sum_rows(kP) * sum_ld(kP) + at.l();
#pragma unroll
    for (int s = 0; s < sum_rows(kP); ++s) {
#pragma unroll
      for (int j = 0; j < kP.TL; j += kP.VEC) {
        Vec<kP.VEC> v;
#pragma unroll
        for (int i = 0; i < kP.VEC; ++i) v.x[i] = sum[(s0 + s) * kP.TL + j + i];
        store_vec<kP.VEC>(own + s * sum_ld(kP) + l_offset(j), v);
      }
    }
  }
}

// How the sums in the buffer are dealt out for the way to C: units of four in C's order, kPasses
// units to each of the first kHolders threads.
constexpr int kUnits = sum_rows(kP) * tile_l(kP) / 4;
constexpr int kHolders = min_of(kUnits, threads(kP));
constexpr int kPasses = kUnits / kHolders;
constexpr int kChunks = kP.BS / sum_rows(kP);
constexpr int kOutputs = kChunks * kPasses * 4;  // of a thread
// Outputs of a unit that are neighbours in C.
constexpr int kOutVec = min_of(kP.VEC, vector_width(kP.SKINNY_N != 0 ? sum_rows(kP) : tile_l(kP)));

struct TilePlace {
  int s, l;
};

// The first of kOutVec outputs that are neighbours in C, of a thread and in chunk 0.
__device__ inline TilePlace output_place(int thread, int pass, int i) {
  const int index = (pass * kHolders + thread) * 4 + i;
  if constexpr (kP.SKINNY_N != 0) return {index % sum_rows(kP), index / sum_rows(kP)};
  return {index / tile_l(kP), index % tile_l(kP)};
}

// Adds up over the warps along K, in order.
__device__ inline void add_warps(float* out, const float* buffer) {
#pragma unroll
  for (int i = 0; i < kPasses * 4; i += kOutVec) {
    const TilePlace at = output_place(static_cast<int>(threadIdx.x), i / 4, i % 4);
    const float* p = buffer + at.s * sum_ld(kP) + at.l;
#pragma unroll
    for (int j = 0; j < kOutVec; ++j) out[i + j] = 0.0f;
#pragma unroll
    for (int warp = 0; warp < warps_k(kP); ++warp, p += sum_rows(kP) * sum_ld(kP)) {
#pragma unroll
      for (int j = 0; j < kOutVec; ++j) out[i + j] += p[kP.SKINNY_N != 0 ? j * sum_ld(kP) : j];
    }
  }
}

// Outputs i to i + kOutVec - 1 of a thread.
__device__ inline void store_outputs(int thread, int i, const Vec<kOutVec>& out,
                                     const GemmArgs& args, int s0, int l0) {
  const TilePlace at = output_place(thread, i / 4 % kPasses, i % 4);
  const int s = s0 + i / (4 * kPasses) * sum_rows(kP) + at.s;
  const int l = l0 + at.l;
  const int row = kP.SKINNY_N != 0 ? l : s, col = kP.SKINNY_N != 0 ? s : l;
  if (kPredicated && !in_bounds(row, args.M)) return;
  store_d<kOutVec, kPredicated>(args, row, col, out);
}

extern "C" __global__ void GT_CLUSTER(cluster_ctas(kP))
    __launch_bounds__(threads(kP), min_ctas_per_sm(kP)) gemm(const GemmArgs all) {
  const GemmArgs args = batch_entry(all);
  const Operands op = operands(args);
  SharedMemory smem;
  float* const buffer = smem.take(buffer_floats(kP));
  const Place at = place();
  // CTAs that stream the same part are neighbours, so that it comes from the L2 all but once.
  const int tiles_s = (op.skinny - 1) / kP.BS + 1;
  const int tile = static_cast<int>(blockIdx.x);
  const int s0 = tile % tiles_s * kP.BS, l0 = tile / tiles_s * tile_l(kP);

  // The CTA's share of K, in whole slices.
  const int K = reduction_length(args);
  const int slices = (K + slice_k(kP) - 1) / slice_k(kP);
  const int share = static_cast<int>(blockIdx.y);
  const int k_begin = slices * share / kP.SPLIT_K * slice_k(kP);
  const int k_end = min_of(K, slices * (share + 1) / kP.SPLIT_K * slice_k(kP));

  const long long k_first = k_begin + at.k(), l_first = l0 + at.l();
  Stream stream(op.streamed + (kAlongK ? l_first * op.streamed_ld + k_first
                                       : k_first * op.streamed_ld + l_first),
                op.streamed_ld, k_begin + at.k(), k_end, op.length - l0 - at.l());
  const float* const staged = op.staged + (stages_along_k(kP) ? s0 * op.staged_ld : s0);
#ifdef TUNED_STAGED_FIRST
  StagedCopy copy;
  load_slice(copy, staged, op.staged_ld, k_begin, k_end, op.skinny - s0);
  end_step();
#endif
#ifdef TUNED_KEEP
  int group_number = k_begin / group_k(kP) + l0 / tile_l(kP);
  if (is_kept(group_number)) {
#pragma unroll
    for (int u = 0; u < kP.UNROLL; ++u) stream.fetch<true>(u);
  } else {
#pragma unroll
    for (int u = 0; u < kP.UNROLL; ++u) stream.fetch<false>(u);
  }
#else
#pragma unroll
  for (int u = 0; u < kP.UNROLL; ++u) stream.fetch(u);
#endif

#ifndef TUNED_STAGED_FIRST
  StagedCopy copy;
  load_slice(copy, staged, op.staged_ld, k_begin, k_end, op.skinny - s0);
#endif
  float sum[kSums] = {};
  for (int k = k_begin; k < k_end; k += slice_k(kP)) {
    __syncthreads();
    copy.store(buffer);
    __syncthreads();
    load_slice(copy, staged, op.staged_ld, k + slice_k(kP), k_end, op.skinny - s0);
    const float* own = buffer + at.k() * (kAlongK ? 1 : staged_ld(kP));
#pragma unroll 1
    for (int group = 0; group < slice_k(kP) / group_k(kP); ++group) {
#ifdef TUNED_KEEP
      if (is_kept(++group_number)) {
        multiply_group<true>(sum, stream, own);
      } else {
        multiply_group<false>(sum, stream, own);
      }
#else
#pragma unroll
      for (int u = 0; u < kP.UNROLL; ++u) {
        multiply_step(sum, stream, u, own);
        stream.fetch(u);
        end_step();
        own += step_k(kP) * (kAlongK ? 1 : staged_ld(kP));
      }
#endif
    }
  }

  add_lanes<kSums, kP.LANES_K>(sum, at.lane_k);
  const bool holds = static_cast<int>(threadIdx.x) < kHolders;
  float out[kOutputs];
#pragma unroll
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    __syncthreads();
    store_sums(buffer, sum, chunk * sum_rows(kP), at);
    __syncthreads();
    if (holds) add_warps(out + chunk * kPasses * 4, buffer);
  }
  if constexpr (kP.CLUSTER != 0) {
    ClusterSum<kHolders, kOutputs, kOutVec, kP.SPLIT_K>::add(
        out, buffer, share, [&](int thread, int i, const Vec<kOutVec>& v) {
          store_outputs(thread, i, v, args, s0, l0);
        });
    return;
  }
  if constexpr (kP.SPLIT_K > 1) {
    const int shared_tile = static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);
    const bool last = ShareSum<kHolders, kOutputs>::add(
        out, args.partials, args.counters + shared_tile * (kP.SPLIT_K + 1), share, kP.SPLIT_K,
        [&](int i) { return shared_tile * kP.SPLIT_K + i; });
    if (!last) return;
  }
  if (!holds) return;
#pragma unroll
  for (int i = 0; i < kOutputs; i += kOutVec) {
    Vec<kOutVec> v;
#pragma unroll
    for (int j = 0; j < kOutVec; ++j) v.x[j] = out[i + j];
    store_outputs(static_cast<int>(threadIdx.x), i, v, args, s0, l0);
  }
}

}  // namespace gemm_tune::skinny

#else  // the host: cost and search space

#include "kernel_templates/cost.h"
#include "kernel_templates/family.h"

namespace gemm_tune::skinny {

inline Traits traits(const Params& p) {
  Traits t;
  t.threads = threads(p);
  t.tile_m = p.SKINNY_N != 0 ? tile_l(p) : p.BS;
  t.tile_n = p.SKINNY_N != 0 ? p.BS : tile_l(p);
  t.tile_k = slice_k(p);
  t.thread_m = p.SKINNY_N != 0 ? p.TL : p.BS;
  t.thread_n = p.SKINNY_N != 0 ? p.BS : p.TL;
  t.threads_along_k = warps_k(p) * p.LANES_K;
  t.smem_bytes = smem_bytes(p);
  t.split_k = p.SPLIT_K;
  t.cluster = p.CLUSTER != 0;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.barriers_per_tile_k = 2;
  t.end_barriers = 2 * p.BS / sum_rows(p);
  t.end_wavefronts = 2 * warps_k(p) * p.BS * tile_l(p) / 32;  // stored and loaded

  // One step of a warp: from shared memory the small operand's vectors, from global memory the
  // large one's, each lane's own.
  const bool along_k = streams_along_k(p);
  const int vec = along_k ? p.VEC : vector_width(p.BS);
  const double loads = along_k ? p.BS : p.BS / vec;
  WarpWords words;
  for (int lane = 0; lane < 32; ++lane) {
    words[static_cast<std::size_t>(lane)] = lane / lanes_l(p) * vec;
  }
  const double stream_wavefronts = max_of(p.VEC, along_k ? lanes_l(p) : 1);
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
  t.other_instructions_per_k = (2.0 * pieces(p) + 3.0 / p.UNROLL) / step_k(p) +
                               overhead_per_k(slice_k(p), slice_k(p), fill_loads, t.predicated);
  // Fitted on sm_90 (CUDA 13.0): over 77 random configs the root mean square error is 17. What the
  // launch bounds cap does not spill.
  const int most = kSmRegisters / (threads(p) * min_ctas_per_sm(p));
  t.registers_estimate = min_of(most, max_of(80, registers(p) * 6 / 5));
  return t;
}

inline KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "skinny", "M or N small: the large operand streams through registers, all layouts",
      {{"CLUSTER", &Params::CLUSTER, {0, 1}, "1: the SPLIT_K CTAs of a tile form a cluster"},
       {"BS", &Params::BS, {1, 2, 4, 8, 16, 32}, "CTA and thread tile along the skinny edge"},
       {"TL", &Params::TL, {1, 2, 4}, "thread tile along the long edge"},
       {"WARPS", &Params::WARPS, {4, 8, 16}, "warps per CTA"},
       {"LANES_K", &Params::LANES_K, {1, 8, 32}, "lanes of a warp along K, where rows lie along K"},
       {"UNROLL", &Params::UNROLL, {2, 4, 8, 16}, "steps along K under way at once"},
       vector_width_param("VEC", &Params::VEC),
       {"SPLIT_K", &Params::SPLIT_K, {1, 2, 4, 8, 16}, "CTAs that share one tile along K"},
       {"SKINNY_N", &Params::SKINNY_N, {0, 1}, "1: N is the small edge; 0: M is"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
  add_later_param(family,
                  {"KEEP",
                   {0, 1, 2, 4, 6, 8, 12},
                   "sixteenths of the large operand that stay in the L2 from launch to launch"},
                  16, [](Traits& t, int value) { t.kept_sixteenths = value; });
  add_later_param(
      family,
      {"STAGED_FIRST", {0, 1}, "1: the small operand's first loads come before the large one's"}, 1,
      nullptr);
  return family;
}

}  // namespace gemm_tune::skinny

#endif
