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
// and emulated for every architecture from sm_75 on; executed on sm_90 only (bench/mma_check.cpp).
#pragma once

#include "kernel_templates/device/chunk_map.cuh"
#include "kernel_templates/device/element_type.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune::mma {

struct Params {
  int AB, CD, BM, BN, BK, WM, WN, MMA_K, STAGES, ASYNC, VEC, RASTER, SPLIT_K, TA, TB, PRED;
};

constexpr int warps_n(const Params& p) { return p.BN / p.WN; }
constexpr int threads(const Params& p) { return 32 * (p.BM / p.WM) * warps_n(p); }

// Whether k runs along a stored row.
constexpr bool a_along_k(const Params& p) { return p.TA == 0; }
constexpr bool b_along_k(const Params& p) { return p.TB != 0; }
constexpr bool is_async(const Params& p) { return p.ASYNC != 0 && p.VEC > 1; }

// 16-bit elements of one stage; shared memory is taken in floats.
constexpr int stage_a(const Params& p) { return p.BM * p.BK; }
constexpr int stage_b(const Params& p) { return p.BN * p.BK; }
constexpr int smem_floats_a(const Params& p) { return p.STAGES * stage_a(p) / 2; }
constexpr int smem_floats_b(const Params& p) { return p.STAGES * stage_b(p) / 2; }
constexpr int smem_bytes(const Params& p) { return (smem_floats_a(p) + smem_floats_b(p)) * 4; }

constexpr int sums_per_thread(const Params& p) { return p.WM * p.WN / 32; }
// Words that a thread keeps of the slices on their way, in the twins with accesses of one element
// at least.
constexpr int staged_words(const Params& p) {
  const int words_of_a = chunk_passes(p.BM, p.BK / kChunk, threads(p)) * (kChunk / 2);
  return words_of_a + chunk_passes(p.BN, p.BK / kChunk, threads(p)) * (kChunk / 2);
}
// Sums, blocks of a k step, and what addresses and counts were never seen to take less than.
constexpr int least_registers(const Params& p) {
  return sums_per_thread(p) + (p.WM + p.WN) / kBlock * 4 + staged_words(p) + 16;
}

constexpr Rule<Params> kRules[] = {
    {"C and D are of f32 or of the operands' type", "AB CD",
     [](const Params& p) { return p.CD != kTypeF32 && p.CD != p.AB; }},
    {"instructions of depth 8 are for f16", "AB MMA_K",
     [](const Params& p) { return p.MMA_K == 8 && p.AB != kTypeF16; }},
    {"warp tile does not divide CTA tile", "BM WM",
     [](const Params& p) { return p.BM % p.WM != 0; }},
    {"warp tile does not divide CTA tile", "BN WN",
     [](const Params& p) { return p.BN % p.WN != 0; }},
    {"more than 512 threads per CTA", "BM BN WM WN",
     [](const Params& p) { return threads(p) > 512; }},
    {"registers hold no blocks beside the sums", "BM BN BK WM WN",
     [](const Params& p) {
       return least_registers(p) > 255 || least_registers(p) * threads(p) > 65536;
     }},
    {"more than two stages need cp.async", "STAGES ASYNC",
     [](const Params& p) { return p.STAGES > 2 && p.ASYNC == 0; }},
};

constexpr bool is_block_multiple(int size) { return is_tile_size(size) && size % kBlock == 0; }

constexpr const char* reject(const Params& p) {
  if (p.AB != kTypeF16 && p.AB != kTypeBf16) return "AB must be 1 for f16 or 2 for bf16";
  if (p.CD < kTypeF32 || p.CD > kTypeBf16) return "CD must be 0 for f32, 1 for f16 or 2 for bf16";
  if (!is_block_multiple(p.BM) || !is_block_multiple(p.BN) || !is_block_multiple(p.BK) ||
      !is_block_multiple(p.WM) || !is_block_multiple(p.WN))
    return "tile sizes must be multiples of 16 up to 1024";
  if (p.MMA_K != 8 && p.MMA_K != 16) return "MMA_K must be 8 or 16";
  if (p.VEC != 1 && p.VEC != 2 && p.VEC != 4 && p.VEC != 8) return "VEC must be 1, 2, 4 or 8";
  if (p.STAGES < 2 || p.STAGES > 8) return "STAGES must lie between 2 and 8";
  if (p.RASTER < 1 || p.RASTER > 64) return "RASTER must lie between 1 and 64";
  if (p.SPLIT_K < 1 || p.SPLIT_K > 1024) return "SPLIT_K must lie between 1 and 1024";
  if (!is_flag(p.ASYNC) || !is_flag(p.TA) || !is_flag(p.TB) || !is_flag(p.PRED))
    return "ASYNC, TA, TB and PRED must be 0 or 1";
  return first_broken(kRules, p);
}

}  // namespace gemm_tune::mma

#ifdef TUNED_PARAMS

#include "kernel_templates/device/chunk_copy.cuh"
#include "kernel_templates/device/element_store.cuh"
#include "kernel_templates/device/epilogue.cuh"
#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/mma_block.cuh"
#include "kernel_templates/device/raster.cuh"
#ifdef TUNED_REPACK
#include "kernel_templates/device/repack.cuh"
#endif
#include "kernel_templates/device/share_sum.cuh"
#include "kernel_templates/device/smem.cuh"

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
  __device__ Segment(const GemmArgs& args, const Bits16* a, const Bits16* b, TileOrigin origin,
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
__device__ inline void store(const Sums& sums, const GemmArgs& args, TileOrigin origin,
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

__device__ inline const Bits16* matrix_of_batch(const float* first, long long stride) {
  return reinterpret_cast<const Bits16*>(first) + blockIdx.z * stride;
}

using Shares = ShareSum<threads(kP), sums_per_thread(kP)>;

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const GemmArgs args) {
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

#else  // the host: cost and search space

#include "core/signature.h"
#include "kernel_templates/family.h"

namespace gemm_tune::mma {

static_assert(static_cast<int>(ElementType::f32) == kTypeF32 &&
              static_cast<int>(ElementType::f16) == kTypeF16 &&
              static_cast<int>(ElementType::bf16) == kTypeBf16);

inline Traits traits(const Params& p) {
  Traits t;
  t.signature = signature_of(static_cast<ElementType>(p.AB), static_cast<ElementType>(p.CD));
  t.least_sm = p.AB == kTypeBf16 || p.MMA_K == 16 || is_async(p) ? 80 : 75;
  t.deeper_sm = p.MMA_K == 8 ? 80 : 0;
  t.async_copy = is_async(p);
  t.threads = threads(p);
  t.tile_m = p.BM;
  t.tile_n = p.BN;
  t.tile_k = p.BK;
  t.thread_m = p.WM / 8;  // of each 16 x 8 part two rows and two columns
  t.thread_n = p.WN / 4;
  t.stages = p.STAGES;
  t.smem_bytes = smem_bytes(p);
  t.vec = p.VEC;
  t.predicated = p.PRED != 0;
  t.split_k = p.SPLIT_K;
  t.transposed_a = p.TA != 0;
  t.transposed_b = p.TB != 0;
  t.barriers_per_tile_k = 1;
  t.unrolled_k = p.BK;
  t.registers_estimate = least_registers(p) + 24;
  // Every access of a warp moves 512 bytes but the narrow ones from global memory, which touch as
  // many: lanes are a chunk apart.
  t.feed_instructions_per_k = 1.0 * (p.WM + p.WN) / kBlock / kBlock;
  t.feed_wavefronts_per_k = 4 * t.feed_instructions_per_k;
  const int chunks = staged_words(p) * 2 / kChunk;  // of a thread
  t.fill_instructions_per_tile_k = chunks * (kChunk / p.VEC + (is_async(p) ? 0 : 1));
  t.fill_wavefronts_per_tile_k = 4 * t.fill_instructions_per_tile_k;
  return t;
}

inline KernelFamily family() {
  KernelFamily family = make_family<Params>(
      "mma", "tensor cores by mma.sync, 16-bit operands, sums in fp32",
      {{"AB", &Params::AB, {1, 2}, "type of A and B: 1 for f16, 2 for bf16", Role::type_ab},
       {"CD", &Params::CD, {0, 1, 2}, "type of C and D: 0 for f32, else AB", Role::type_cd},
       {"BM", &Params::BM, {16, 32, 64, 128, 256}, "CTA tile rows"},
       {"BN", &Params::BN, {16, 32, 64, 96, 128, 256}, "CTA tile columns"},
       {"BK", &Params::BK, {16, 32, 64}, "K elements per slice in shared memory"},
       {"WM", &Params::WM, {16, 32, 64}, "warp tile rows"},
       {"WN", &Params::WN, {16, 32, 48, 64}, "warp tile columns"},
       {"MMA_K", &Params::MMA_K, {8, 16}, "K elements of one instruction; 8 is what sm_75 has"},
       {"STAGES", &Params::STAGES, {2, 3, 4, 5}, "slices in shared memory"},
       {"ASYNC", &Params::ASYNC, {0, 1}, "1: cp.async brings slices; 0: registers do"},
       {"VEC", &Params::VEC, {1, 2, 4, 8}, "elements per global access", Role::vector_width},
       {"RASTER", &Params::RASTER, {8}, "tile rows walked side by side"},
       {"SPLIT_K", &Params::SPLIT_K, {1, 2, 4, 8}, "CTAs that share a tile"},
       transposed_a_param("TA", &Params::TA),
       transposed_b_param("TB", &Params::TB),
       predicated_param("PRED", &Params::PRED)},
      kRules, &reject, &traits);
  family.is_fastest_at_widest_vec = true;
  // 64 x 64 tiles waste little on small edges. Without cp.async, and with instructions of depth 8,
  // f16 runs on sm_75 too.
  family.untuned = [](const Signature& signature, int sm) -> std::optional<std::vector<int> > {
    const ElementType ab = signature.a, cd = signature.d;
    const bool has_depth_16 = sm >= 80;
    const bool is_served =
        (ab == ElementType::f16 && sm >= 75) || (ab == ElementType::bf16 && has_depth_16);
    if (!is_served || !is_offered(signature)) return std::nullopt;
    return values_of(Params{.AB = static_cast<int>(ab),
                            .CD = static_cast<int>(cd),
                            .BM = 64,
                            .BN = 64,
                            .BK = 32,
                            .WM = 32,
                            .WN = 32,
                            .MMA_K = has_depth_16 ? 16 : 8,
                            .STAGES = 2,
                            .ASYNC = 0,
                            .VEC = 8,
                            .RASTER = 8,
                            .SPLIT_K = 1,
                            .TA = 0,
                            .TB = 0,
                            .PRED = 1});
  };
  return family;
}

}  // namespace gemm_tune::mma

#endif
