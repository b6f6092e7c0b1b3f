// SPDX-License-Identifier: Apache-2.0
// mma: D = alpha * op(A) * op(B) + beta * C on tensor cores by mma.sync, A and B of f16 or bf16,
// sums in fp32, C and D of f32 or of A's type.
//
// A CTA computes BM x BN in slices of BK that lie in STAGES buffers of shared memory as they lie in
// global memory, their chunks of 16 bytes exchanged against bank conflicts; a warp computes WM x
// WN. ASYNC: cp.async brings the slices, or they pass through registers (also where accesses of one
// element are too narrow for cp.async). RASTER tile rows are walked side by side. SPLIT_K CTAs
// share a tile along K. AB and CD are the types of the operands and of the result, MMA_K is the
// depth of one instruction: 8 is what sm_75 has. VEC is the elements per global access; TA and TB
// pick the layout, PRED the edge handling: 1 for any shape, 0 for multiples of the tile. Compiled
// and emulated for every architecture from sm_75 on; executed on sm_90 only
// (tests/emulator/device_test/mma_rounding_gpu_test.cpp).
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/call/element_store.cuh"
#include "kernel_templates/device/call/epilogue.cuh"
#include "kernel_templates/device/call/pointer_batch.cuh"
#include "kernel_templates/device/copy/chunk_copy.cuh"
#include "kernel_templates/device/copy/pre_pass.cuh"
#include "kernel_templates/device/sum/share_sum.cuh"
#include "kernel_templates/device/tile/mma_block.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/mma/params.cuh"

namespace gemm_tune::mma {

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
constexpr bool kPredicated = kP.PRED != 0;
constexpr bool kAsync = is_async(kP);
constexpr int kBlocksM = kP.WM / kBlock, kBlocksN = kP.WN / kBlock;  // of a warp

using CopyA = ChunkCopy<kP.BM, kP.BK, threads(kP), kP.VEC, a_along_k(kP), kAsync, kPredicated>;
using CopyB = ChunkCopy<kP.BN, kP.BK, threads(kP), kP.VEC, b_along_k(kP), kAsync, kPredicated>;

// A thread's place in the CTA tile: its warp's tile.
struct Place {
  int row, col;

  explicit __device__ Place(int thread) {
    const int warp = thread / 32;
    row = warp / warps_n(kP) * kP.WM;
    col = warp % warps_n(kP) * kP.WN;
  }
};

// Four of each 16 x 8 part of the warp's tile.
struct Sums {
  float x[kBlocksM][2 * kBlocksN][4];

  // Adds the product of a slice.
  __device__ void multiply(const Bits16* a_slice, const Bits16* b_slice, const Place& place) {
#pragma unroll
    for (int k = 0; k < kP.BK; k += kBlock) {
      MmaBlock a[kBlocksM], b[kBlocksN];
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
        a[i].load<kP.BM, kP.BK, a_along_k(kP)>(a_slice, place.row + i * kBlock, k);
      }
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        b[j].load<kP.BN, kP.BK, b_along_k(kP)>(b_slice, place.col + j * kBlock, k);
      }
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
        for (int j = 0; j < 2 * kBlocksN; ++j) {
          multiply_blocks<kP.AB, kP.MMA_K>(x[i][j], a[i], b[j / 2], j % 2);
        }
      }
    }
  }
};

// A range of k of one tile: brings its slices in and multiplies them.
class Segment {
 public:
  // a and b: the CTA's product's operands.
  __device__ Segment(const KernelArgs& args, const Bits16* a, const Bits16* b, TileOrigin origin,
                     KRange k, Bits16* a_smem, Bits16* b_smem)
      : a_copy_(a_along_k(kP) ? a + origin.row * args.lda + k.begin
                              : a + k.begin * args.lda + origin.row,
                args.lda, args.M - origin.row),
        b_copy_(b_along_k(kP) ? b + origin.col * args.ldb + k.begin
                              : b + k.begin * args.ldb + origin.col,
                args.ldb, args.N - origin.col),
        a_smem_(a_smem),
        b_smem_(b_smem),
        k_left_(k.end - k.begin),
        slices_((k_left_ + kP.BK - 1) / kP.BK) {}

  __device__ void multiply(Sums& sums, const Place& place) {
    // All stages but one on their way, the first of them there. Not unrolled: copies of few
    // elements at a time are long.
#pragma unroll 1
    for (int stage = 0; stage < kP.STAGES - 1; ++stage) {
      begin_copy();
      finish_copy();
      commit();
    }
    synchronise();
    for (int slice = 0; slice < slices_; ++slice) {
      const int stage = read_;
      begin_copy();
      commit();
      sums.multiply(a_smem_ + stage * stage_a(kP), b_smem_ + stage * stage_b(kP), place);
      finish_copy();
      read_ = next(read_);
      synchronise();
    }
  }

 private:
  static __device__ int next(int stage) { return stage + 1 == kP.STAGES ? 0 : stage + 1; }

  // The next slice's way into a stage: what cp.async does not bring waits in registers.
  __device__ void begin_copy() {
    if (k_left_ > 0) {
      a_copy_.begin(a_smem_ + write_ * stage_a(kP), k_left_);
      b_copy_.begin(b_smem_ + write_ * stage_b(kP), k_left_);
    }
  }
  __device__ void finish_copy() {
    if (k_left_ > 0) {
      a_copy_.finish(a_smem_ + write_ * stage_a(kP));
      b_copy_.finish(b_smem_ + write_ * stage_b(kP));
    }
    k_left_ -= kP.BK;
    write_ = next(write_);
  }

  static __device__ void commit() {
    if constexpr (kAsync) commit_copies();
  }
  // The next stage to read is whole, for all threads, and the last one read is free.
  static __device__ void synchronise() {
    if constexpr (kAsync) wait_copies<kP.STAGES - 2>();
    __syncthreads();
  }

  CopyA a_copy_;
  CopyB b_copy_;
  Bits16* const a_smem_;
  Bits16* const b_smem_;
  int k_left_;  // from the next slice to copy on
  const int slices_;
  int read_ = 0, write_ = 0;
};

// A lane has of each 16 x 8 part elements 2 (lane % 4) and the next one of rows lane / 4 and that
// row + 8: PTX ISA 9.0, section "Matrix Fragments for mma.m16n8k16 with floating point type".
__device__ inline void store(const Sums& sums, const KernelArgs& args, TileOrigin origin,
                             const Place& place) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = origin.row + place.row + lane / 4;
  const int col = origin.col + place.col + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; ++j) {
        store_pair<kP.CD, kP.VEC, kPredicated>(args, row + i * kBlock + half * 8, col + j * 8,
                                               &sums.x[i][j][half * 2]);
      }
    }
  }
}

// Of the CTA's own product, or of a strided batch.
__device__ inline KernelArgs arguments_of(const KernelArgs& all) {
  if constexpr (kP.POINTERS != 0) return pointer_entry(all);
  return all;
}

// Elements per access of C and D, but at edges.
constexpr int kVecD = kP.VEC > 1 ? 2 : 1;

__device__ inline const Bits16* matrix_of_batch(const float* first, long long stride) {
  return reinterpret_cast<const Bits16*>(first) + blockIdx.z * stride;
}

using Shares = ShareSum<threads(kP), sums_per_thread(kP)>;

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const KernelArgs all) {
  const KernelArgs args = arguments_of(all);
  if constexpr (kP.POINTERS != 0) {
    if (!are_aligned<kP.AB, kP.CD, kP.VEC, kP.VEC, kVecD>(args)) {
      return compute_elements<kP.AB, kP.CD, kP.TA != 0, kP.TB != 0>(args);
    }
  }
  SharedMemory smem;
  Bits16* const a_smem = reinterpret_cast<Bits16*>(smem.take(smem_floats_a(kP)));
  Bits16* const b_smem = reinterpret_cast<Bits16*>(smem.take(smem_floats_b(kP)));
  const Place place(static_cast<int>(threadIdx.x));
  const int tile = static_cast<int>(blockIdx.x), share = static_cast<int>(blockIdx.y);
  const TileOrigin origin = raster_origin<kP.BM, kP.BN, kP.RASTER>(tile, args);
  const KRange k = share_of_k<kP.BK, kP.SPLIT_K>(reduction_length(args), share);

  Sums sums = {};
  Segment(args, matrix_of_batch(args.A, args.stride_a), matrix_of_batch(args.B, args.stride_b),
          origin, k, a_smem, b_smem)
      .multiply(sums, place);
  if constexpr (kP.SPLIT_K > 1) {
    const int number = static_cast<int>(gridDim.x * blockIdx.z) + tile;  // of all the batch's tiles
    if (!Shares::add(&sums.x[0][0][0], args.partials, args.counters + number * (kP.SPLIT_K + 1),
                     share, kP.SPLIT_K, [&](int s) { return number * kP.SPLIT_K + s; }))
      return;
  }
  store(sums, args, origin, place);
}

}  // namespace gemm_tune::mma
