// SPDX-License-Identifier: Apache-2.0
// mma: D = alpha * op(A) * op(B) + beta * C on tensor cores by mma.sync, A and B of f16, bf16, or
// of f32, rounded to tf32 in registers, C and D of f32 or of A's type. Sums are in fp32 or, by
// the accuracy class of ACCURACY, in fp16 for 32 k and then added in fp32.
//
// A CTA computes BM x BN in slices of BK that lie in STAGES buffers of shared memory as they lie in
// global memory, their chunks of 16 bytes exchanged against bank conflicts; a warp computes WM x
// WN. ASYNC: cp.async brings the slices, or they pass through registers (also where accesses of one
// element are too narrow for cp.async). RASTER tile rows are walked side by side. SPLIT_K CTAs
// share a tile along K. AB and CD are the types of the operands and of the result, MMA_K is the
// depth of one instruction: 8 is what sm_75 has, and tf32. VEC is the elements per global access;
// TA and TB pick the layout, PRED the edge handling: 1 for any shape, 0 for multiples of the tile.
// Compiled and emulated for every architecture from sm_75 on; executed on sm_90 only
// (tests/emulator/device_test/mma_rounding_gpu_test.cpp).
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/element_store.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/call/pointer_batch.cuh"
#include "kernel_templates/device/copy/chunk_copy.cuh"
#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/device/sum/cluster_sum.cuh"
#include "kernel_templates/device/sum/share_sum.cuh"
#include "kernel_templates/device/tile/mma_block.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/mma/params.cuh"

namespace gemm_tune::mma {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
static_assert(has_its_cluster(cluster_ctas(kP)),
              "clusters need sm_90, and TUNED_CLUSTER says of how many CTAs");
constexpr bool kPredicated = kP.PRED != 0;
constexpr bool kAsync = is_async(kP);
constexpr int kBlocksM = kP.WM / kBlock, kBlocksN = kP.WN / kBlock;  // of a warp
constexpr int kDepth = block_depth(element_bytes(kP));
using Operand = Select<kP.AB == kTypeF32, Bits32, Bits16>::Type;

// Elements per access; of D, which lies in pairs of a lane's sums, as many as a quad's lanes can
// bring together.
constexpr VectorWidths kWidths = access_widths(kP);
constexpr int kQuadBlocks = 4, kQuadElements = 8;
constexpr bool kByQuads = kP.CD != kTypeF32 && kWidths.cd == kQuadElements && kP.CLUSTER == 0 &&
                          2 * kBlocksN % kQuadBlocks == 0;
constexpr int kVecD = kByQuads ? kQuadElements : min_of(kWidths.cd, 2);

using CopyA =
    ChunkCopy<Operand, kP.BM, kP.BK, threads(kP), kWidths.a, a_along_k(kP), kAsync, kPredicated>;
using CopyB =
    ChunkCopy<Operand, kP.BN, kP.BK, threads(kP), kWidths.b, b_along_k(kP), kAsync, kPredicated>;
template <MmaOperand OPERAND, int EDGE, bool ALONG_K, int WARP>
using Places = typename Select<chunk_reads(sizeof(Operand), ALONG_K) == ChunkReads::eight_rows,
                               MmaPlaces<Operand, OPERAND, EDGE, kP.BK, ALONG_K, WARP>,
                               ElementPlaces<Operand, OPERAND, EDGE, kP.BK, WARP>>::Type;

using Place = WarpPlace<warps_n(kP), kP.WM, kP.WN>;
using Fragments = WarpBlocks<kBlocksM, kBlocksN>;

// A word has two neighbours of a row, of each 16 x 8 part of the warp's tile.
struct SumsInF16 {
  unsigned x[promotes(kP) ? kBlocksM : 1][promotes(kP) ? 2 * kBlocksN : 1][2];
};

// Four of each 16 x 8 part of the warp's tile.
struct Sums {
  float x[kBlocksM][2 * kBlocksN][4];

  template <int STEP>
  __device__ void multiply(Fragments& of, SumsInF16& in_f16) {
    round_blocks<kP.AB>(of.a);
    round_blocks<kP.AB>(of.b);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; ++j) {
        if constexpr (promotes(kP)) {
          multiply_in_f16<STEP>(i, j, of, in_f16.x[i][j]);
        } else {
          multiply_blocks<kP.AB, kP.MMA_K>(x[i][j], of.a[i], of.b[j / 2], j % 2);
        }
      }
    }
  }

 private:
  // Those in fp16 begin at zero with every other step, after which they are added in fp32.
  template <int STEP>
  __device__ void multiply_in_f16(int i, int j, const Fragments& of, unsigned (&pairs)[2]) {
    if (STEP % 2 == 0) pairs[0] = pairs[1] = 0;
    multiply_blocks_in_f16<kP.MMA_K>(pairs, of.a[i], of.b[j / 2], j % 2);
    if (STEP % 2 == 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 promoted = pair_to_floats<kTypeF16>(pairs[half]);
      x[i][j][2 * half] += promoted.x;
      x[i][j][2 * half + 1] += promoted.y;
    }
  }
};

// A range of k of one tile: brings its slices in and multiplies them.
//
// The blocks of a k step are loaded while those of the step before are multiplied. A warp has
// loaded all blocks of a slice before it multiplies the last ones; there, where its multiplications
// hide the wait, it meets the others: the next slice is whole then, and the stage of this one is
// free. Slices on their way in registers arrive after the last multiplication.
class Segment {
 public:
  // a and b: the CTA's product's operands.
  __device__ Segment(const KernelArgs& args, const Operand* a, const Operand* b, TileOrigin origin,
                     KRange k, Operand* a_smem, Operand* b_smem, const Place& place)
      : a_copy_(a_along_k(kP) ? a + origin.row * args.lda + k.begin
                              : a + k.begin * args.lda + origin.row,
                args.lda, args.M - origin.row),
        b_copy_(b_along_k(kP) ? b + origin.col * args.ldb + k.begin
                              : b + k.begin * args.ldb + origin.col,
                args.ldb, args.N - origin.col),
        a_places_(place.row),
        b_places_(place.col),
        a_smem_(a_smem),
        b_smem_(b_smem),
        k_left_(k.end - k.begin),
        slices_((k_left_ + kP.BK - 1) / kP.BK) {}

  __device__ void multiply(Sums& sums) {
    // All stages but one on their way, the first of them there. Not unrolled: copies of few
    // elements at a time are long.
#pragma unroll 1
    for (int stage = 0; stage < kP.STAGES - 1; ++stage) {
      begin_copy<false, 0, 1>();
      finish_copy();
      end_copy();
    }
    synchronise();
    Fragments of[2];
    load(of[0], 0);
    // Slices during which a whole one sets out, then those during which the last or none does.
    const bool is_whole = a_copy_.has_whole_chunks() && b_copy_.has_whole_chunks();
#pragma unroll 1
    for (; is_whole && k_left_ >= kP.BK; --slices_) multiply_slice<true>(sums, of);
#pragma unroll 1
    for (; slices_ > 0; --slices_) multiply_slice<false>(sums, of);
  }

 private:
  static constexpr int kSteps = kP.BK / kDepth;
  static_assert(kSteps % 2 == 0);
  // Steps over which a slice's copies are spread: all but the last, where the wait for them is.
  static constexpr int kCopySteps = kSteps - 1;

  // of: the first step's blocks in the first of them, before and after. WHOLE: the slice that sets
  // out meanwhile is.
  template <bool WHOLE>
  __device__ void multiply_slice(Sums& sums, Fragments (&of)[2]) {
    multiply_steps<WHOLE, 0>(sums, of);
    read_ = next(read_);
    if constexpr (kAsync) {
      end_copy();
      synchronise();
      load(of[0], 0);
      sums.multiply<kSteps - 1>(of[1], in_f16_);
    } else {
      sums.multiply<kSteps - 1>(of[1], in_f16_);
      finish_copy();
      end_copy();
      synchronise();
      load(of[0], 0);
    }
  }

  // From a step on all but the last. Copies come behind the loads, which multiplications wait for.
  template <bool WHOLE, int STEP>
  __device__ void multiply_steps(Sums& sums, Fragments (&of)[2]) {
    if constexpr (STEP < kSteps - 1) {
      load(of[(STEP + 1) % 2], STEP + 1);
      begin_copy<WHOLE, STEP, kCopySteps>();
      sums.multiply<STEP>(of[STEP % 2], in_f16_);
      multiply_steps<WHOLE, STEP + 1>(sums, of);
    }
  }

  static __device__ int next(int stage) { return stage + 1 == kP.STAGES ? 0 : stage + 1; }

  // The next slice's way into a stage, in parts: what cp.async does not bring waits in registers.
  // Where matrices are multiples of the tile a slice that is not whole is none.
  template <bool WHOLE, int PART, int PARTS>
  __device__ void begin_copy() {
    if (WHOLE || k_left_ > 0) {
      a_copy_.template begin<WHOLE, PART, PARTS>(a_smem_ + write_ * stage_a(kP), k_left_);
      b_copy_.template begin<WHOLE, PART, PARTS>(b_smem_ + write_ * stage_b(kP), k_left_);
    }
  }
  __device__ void finish_copy() {
    if (k_left_ > 0) {
      a_copy_.finish(a_smem_ + write_ * stage_a(kP));
      b_copy_.finish(b_smem_ + write_ * stage_b(kP));
    }
  }
  __device__ void end_copy() {
    if constexpr (kAsync) commit_copies();
    k_left_ -= kP.BK;
    write_ = next(write_);
  }

  // The next stage to read is whole, for all threads, and the last one read is free.
  static __device__ void synchronise() {
    if constexpr (kAsync) wait_copies<kP.STAGES - 2>();
    __syncthreads();
  }

  // Of the stage to read.
  __device__ void load(Fragments& of, int step) const {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      a_places_.load(of.a[i], a_smem_, read_ * stage_a(kP), i, step);
    }
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      b_places_.load(of.b[j], b_smem_, read_ * stage_b(kP), j, step);
    }
  }

  CopyA a_copy_;
  CopyB b_copy_;
  const Places<MmaOperand::a, kP.BM, a_along_k(kP), kP.WM> a_places_;
  const Places<MmaOperand::b, kP.BN, b_along_k(kP), kP.WN> b_places_;
  Operand* const a_smem_;
  Operand* const b_smem_;
  int k_left_;  // from the next slice to copy on
  int slices_;  // left to multiply
  int read_ = 0, write_ = 0;
  SumsInF16 in_f16_;
};

// Of each of PARTS 16 x 8 parts beside each other, 4 or 1, a lane has two neighbours in a row. The
// lanes of a quad exchange these: lane q of it gets the row's eight of part q.
template <int PARTS>
__device__ inline void exchange_in_quad(float (&x)[PARTS][2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int bit = 1; bit < PARTS; bit *= 2) {
    const bool upper = (lane & bit) != 0;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      if ((part & bit) != 0) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float given = upper ? x[part][i] : x[part + bit][i];
        const float taken = __shfl_xor_sync(0xffffffffu, given, bit);
        x[part][i] = upper ? taken : x[part][i];
        x[part + bit][i] = upper ? x[part + bit][i] : taken;
      }
    }
  }
}

// A lane has of each 16 x 8 part elements 2 (lane % 4) and the next one of rows lane / 4 and that
// row + 8: PTX ISA 9.0, section "Matrix Fragments for mma.m16n8k16 with floating point type".
__device__ inline void store(const Sums& sums, const KernelArgs& args, TileOrigin origin,
                             const Place& place) {
  constexpr int kTogether = kByQuads ? kQuadBlocks : 1;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = origin.row + place.row + lane / 4;
  const int col = origin.col + place.col + lane % 4 * 2 * kTogether;
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; j += kTogether) {
        float x[kTogether][2];
#pragma unroll
        for (int part = 0; part < kTogether; ++part) {
          x[part][0] = sums.x[i][j + part][half * 2];
          x[part][1] = sums.x[i][j + part][half * 2 + 1];
        }
        exchange_in_quad(x);
        store_neighbours<kP.CD, 2 * kTogether, kVecD, kPredicated>(
            args, row + i * kBlock + half * 8, col + j * 8, x[0]);
      }
    }
  }
}

// Sum number `index` of a thread and the next one.
__device__ inline void store_pair(int thread, int index, const Vec<2>& sums, const KernelArgs& args,
                                  TileOrigin origin) {
  const Place place(thread);
  const int lane = thread % 32, part = index / 4, half = index / 2 % 2;
  const int row = origin.row + place.row + lane / 4 + part / (2 * kBlocksN) * kBlock + half * 8;
  const int col = origin.col + place.col + lane % 4 * 2 + part % (2 * kBlocksN) * 8;
  store_neighbours<kP.CD, 2, kVecD, kPredicated>(args, row, col, sums.x);
}

// Of the CTA's own product, or of a strided batch.
__device__ inline KernelArgs arguments_of(const KernelArgs& all) {
  if constexpr (kP.POINTERS != 0) return pointer_entry(all);
  return all;
}

__device__ inline const Operand* matrix_of_batch(const float* first, long long stride) {
  return reinterpret_cast<const Operand*>(first) + blockIdx.z * stride;
}

extern "C" __global__ void GT_CLUSTER __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  const KernelArgs args = arguments_of(all);
  if constexpr (kP.POINTERS != 0) {
    if (!are_aligned<kP.AB, kP.AB, kP.CD, kWidths.a, kWidths.b, kVecD>(args)) {
      return compute_elements<kP.AB, kP.AB, kP.CD, kP.TA != 0, kP.TB != 0>(args);
    }
  }
  SharedMemory smem;
  Operand* const a_smem = reinterpret_cast<Operand*>(smem.take(smem_floats_a(kP)));
  Operand* const b_smem = reinterpret_cast<Operand*>(smem.take(smem_floats_b(kP)));
  const Place place(static_cast<int>(threadIdx.x));
  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const TileOrigin origin = short_raster_origin<kP.BM, kP.BN, kP.RASTER>(tile, args);
  const KRange k = share_of_k<kP.BK, kP.SPLIT_K>(reduction_length(args), share);

  Sums sums = {};
  Segment(args, matrix_of_batch(args.A, args.stride_a), matrix_of_batch(args.B, args.stride_b),
          origin, k, a_smem, b_smem, place)
      .multiply(sums);
  float* const own = &sums.x[0][0][0];
  if constexpr (kP.CLUSTER != 0) {
    ClusterSum<threads(kP), sums_per_thread(kP), 2, kP.SPLIT_K, /*ONE_ORDER=*/true>::add(
        own, smem.take(smem_floats_sums(kP)), share,
        [&](int thread, int i, const Vec<2>& pair) { store_pair(thread, i, pair, args, origin); });
    return;
  }
  if constexpr (kP.SPLIT_K > 1) {
    using Shares = ShareSum<threads(kP), sums_per_thread(kP)>;
    const int number = static_cast<int>(gridDim.x * blockIdx.z) + tile;  // of all the batch's tiles
    if (!Shares::add(own, args.partials, args.counters + number * (kP.SPLIT_K + 1), share,
                     kP.SPLIT_K, [&](int s) { return number * kP.SPLIT_K + s; }))
      return;
  }
  store(sums, args, origin, place);
}

}  // namespace gemm_tune::mma
