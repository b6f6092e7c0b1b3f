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
//
// TYPE_A and TYPE_B: elements of f16 or bf16 become f32 when they are multiplied, if streamed, and
// on their way to shared memory, if staged.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/call/pointer_batch.cuh"
#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/copy/tile_load.cuh"
#include "kernel_templates/device/sum/cluster_sum.cuh"
#include "kernel_templates/device/sum/share_sum.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/skinny/params.cuh"

namespace gemm_tune::skinny {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
static_assert(has_its_cluster(cluster_ctas(kP)),
              "clusters need sm_90, and TUNED_CLUSTER says of how many CTAs");
constexpr bool kPredicated = kP.PRED != 0;
constexpr bool kAlongK = streams_along_k(kP);
constexpr int kSums = kP.BS * kP.TL;  // of a thread: [BS][TL]
constexpr int kStagedType = staged_type(kP), kStreamedType = streamed_type(kP);
using Staged = Stored<kStagedType>;
using Streamed = Stored<kStreamedType>;

// The operands by what is done with them; s counts along the skinny edge of C, l along the long
// one.
struct Operands {
  const Staged* staged;
  const Streamed* streamed;
  long long staged_ld, streamed_ld;
  int skinny, length;  // the edges of C
};

__device__ inline Operands operands(const KernelArgs& args) {
  if constexpr (kP.SKINNY_N != 0) {
    return {reinterpret_cast<const Staged*>(args.B),
            reinterpret_cast<const Streamed*>(args.A),
            args.ldb,
            args.lda,
            args.N,
            args.M};
  }
  return {reinterpret_cast<const Staged*>(args.A),
          reinterpret_cast<const Streamed*>(args.B),
          args.lda,
          args.ldb,
          args.M,
          args.N};
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
  __device__ Stream(const Streamed* from, long long ld, int k, int k_end, int length_left)
      : from_(from), ld_(ld), k_(k), k_end_(k_end), length_left_(length_left) {}

  // Puts the next step under way, in place of the one that was fetched with the same u. KEPT: as
  // data that stays in the L2.
  template <bool KEPT>
  __device__ void fetch(int u) {
#pragma unroll
    for (int i = 0; i < pieces(kP); ++i) {
      const int l = l_offset(i * vec_l(kP));
      const Streamed* p = from_ + (kAlongK ? l * ld_ : l);
      if constexpr (kPredicated) {
        const int left = kAlongK ? (in_bounds(l, length_left_) ? k_end_ - k_ : 0)
                                 : (in_bounds(k_, k_end_) ? length_left_ - l : 0);
        steps_[u][i] = KEPT ? load_packed_edge<kStreamedType, kP.VEC>(p, left)
                            : stream_packed_edge<kStreamedType, kP.VEC>(p, left);
      } else if (in_bounds(k_, k_end_)) {
        steps_[u][i] =
            KEPT ? load_packed<kStreamedType, kP.VEC>(p) : stream_packed<kStreamedType, kP.VEC>(p);
      }
    }
    k_ += step_k(kP);
    from_ += kAlongK ? step_k(kP) : step_k(kP) * ld_;
  }

  // The step's element j of TL and k of vec_k.
  __device__ float value(int u, int j, int k) const {
    return kAlongK ? value_of(steps_[u][j], k) : value_of(steps_[u][j / kP.VEC], j % kP.VEC);
  }

 private:
  const Streamed* from_;
  long long ld_;
  int k_, k_end_, length_left_;
  Packed<kStreamedType, kP.VEC> steps_[kP.UNROLL][pieces(kP)];
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

// Whether a group of steps is to stay in the L2: KEEP of 16 neighbours along K or along the long
// edge, far from each other, so that L2 and DRAM are read side by side. The same ones in each
// launch.
__device__ inline bool is_kept(int group) { return group * kP.KEEP % 16 < kP.KEEP; }

// Puts the first group of steps under way.
__device__ inline void fetch_group(Stream& stream, int group) {
  if (kP.KEEP != 0 && is_kept(group)) {
#pragma unroll
    for (int u = 0; u < kP.UNROLL; ++u) stream.fetch<true>(u);
  } else {
#pragma unroll
    for (int u = 0; u < kP.UNROLL; ++u) stream.fetch<false>(u);
  }
}

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

// One slice of the small operand, from global into shared memory.
constexpr TileOrder kStagedOrder =
    stages_along_k(kP) == kAlongK ? TileOrder::row_major : TileOrder::transposed;
constexpr int kStagedRows = stages_along_k(kP) ? kP.BS : slice_k(kP);
constexpr int kStagedCols = stages_along_k(kP) ? slice_k(kP) : kP.BS;
constexpr int kStagedVec =
    kStagedOrder == TileOrder::transposed ? 1 : vector_width(kStagedCols, kP.VEC);
using StagedCopy = TileCopy<kStagedRows, kStagedCols, threads(kP), kStagedVec, kPredicated,
                            kStagedOrder, staged_ld(kP), kStagedType>;

// staged: the operand's first element in the CTA's rows. Does nothing at the end of the CTA's
// share.
__device__ inline void load_slice(StagedCopy& copy, const Staged* staged, long long ld, int k,
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
                                     const KernelArgs& args, int s0, int l0) {
  const TilePlace at = output_place(thread, i / 4 % kPasses, i % 4);
  const int s = s0 + i / (4 * kPasses) * sum_rows(kP) + at.s;
  const int l = l0 + at.l;
  const int row = kP.SKINNY_N != 0 ? l : s, col = kP.SKINNY_N != 0 ? s : l;
  if (kPredicated && !in_bounds(row, args.M)) return;
  store_d<kOutVec, kPredicated>(args, row, col, out);
}

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP), min_ctas_per_sm(kP))
    gemm(const KernelArgs all) {
  const KernelArgs args = own_product<kP.POINTERS != 0, kP.TYPE_A, kP.TYPE_B>(all);
  if constexpr (kP.POINTERS != 0) {
    if (!are_aligned<kP.TYPE_A, kP.TYPE_B, kTypeF32, kP.VEC, kP.VEC, kOutVec>(args)) {
      return compute_elements<kP.TYPE_A, kP.TYPE_B, kTypeF32, kP.TA != 0, kP.TB != 0>(args);
    }
  }
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
  const Staged* const staged = op.staged + (stages_along_k(kP) ? s0 * op.staged_ld : s0);
  StagedCopy copy;
  if constexpr (kP.STAGED_FIRST != 0) {
    load_slice(copy, staged, op.staged_ld, k_begin, k_end, op.skinny - s0);
    end_step();
  }
  int group_number = k_begin / group_k(kP) + l0 / tile_l(kP);
  fetch_group(stream, group_number);
  if constexpr (kP.STAGED_FIRST == 0) {
    load_slice(copy, staged, op.staged_ld, k_begin, k_end, op.skinny - s0);
  }
  float sum[kSums] = {};
  for (int k = k_begin; k < k_end; k += slice_k(kP)) {
    __syncthreads();
    copy.store(buffer);
    __syncthreads();
    load_slice(copy, staged, op.staged_ld, k + slice_k(kP), k_end, op.skinny - s0);
    const float* own = buffer + at.k() * (kAlongK ? 1 : staged_ld(kP));
#pragma unroll 1
    for (int group = 0; group < slice_k(kP) / group_k(kP); ++group) {
      if (kP.KEEP != 0 && is_kept(++group_number)) {
        multiply_group<true>(sum, stream, own);
      } else {
        multiply_group<false>(sum, stream, own);
      }
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
