// SPDX-License-Identifier: Apache-2.0
// mma_parts: D = alpha * op(A) * op(B) + beta * C of fp32 matrices on tensor cores by mma.sync,
// with an error as small as fp32's: from sm_75 on what wgmma_parts does on Hopper.
//
// A first kernel splits each element of A and B into two f16 parts of a scaled line or three bf16
// parts (device/parts/split.cuh), or one operand's where the call keeps the parts of the other from
// an earlier one. The product is the sum of three or six: high by high, high by low and low by high
// parts, and the same with a middle part. A CTA computes BM x BN in slices of BK, of all parts,
// that lie in STAGES buffers of shared memory as in mma; a warp computes WM x WN. Where parts lose
// numbers, the first kernel tells of which lines: this one computes their elements of D in fp32
// (device/parts/losing_lines.cuh), or all of D where they are many (device/parts/fp32_product.cuh).
// One of A and B may be of the parts' type: it is one part, and its slices are copied as its rows
// lie. Compiled and emulated for every architecture from sm_75 on.
#pragma once

#include "kernel_templates/device/copy/chunk_copy.cuh"
#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/device/parts/flags.cuh"
#include "kernel_templates/device/parts/fp32_product.cuh"
#include "kernel_templates/device/parts/losing_lines.cuh"
#include "kernel_templates/device/parts/split.cuh"
#include "kernel_templates/device/tile/mma_block.cuh"
#include "kernel_templates/device/tile/smem.cuh"
#include "kernel_templates/device/tile/tile_raster.cuh"
#include "kernel_templates/mma_parts/params.cuh"

namespace gemm_tune::mma_parts {

using parts::Args;

constexpr Params kP = TUNED_PARAMS;
static_assert(reject(kP) == nullptr);
constexpr bool kAsync = is_async(kP);
constexpr int kParts = parts_of(kP), kPartType = parts::part_type(kParts);
constexpr int kPartsA = parts_of_a(kP), kPartsB = parts_of_b(kP);
constexpr bool kAreBothSplit = are_both_split(kP);
constexpr bool kAreLinesTold = parts::are_lines_told(kPartsA, kPartsB);
constexpr bool kIsScaled = parts::is_scaled(kParts);
constexpr int kBlocksM = kP.WM / kBlock, kBlocksN = kP.WN / kBlock;  // of a warp

// Slices of parts are whole along K, whose lines are padded.
template <int EDGE, bool ALONG_K>
using Copy = ChunkCopy<Bits16, EDGE, kP.BK, threads(kP), chunk_elements(kPartBytes), ALONG_K,
                       kAsync, /*PREDICATED=*/true>;
template <MmaOperand OPERAND, int EDGE, bool ALONG_K, int WARP>
using Places = MmaPlaces<Bits16, OPERAND, EDGE, kP.BK, ALONG_K, WARP>;

// By how much sums fall short that are cut off in 4 steps of 8 products before they are promoted:
// the mean of uniform and normal data, of mean 0 and of one sign (docs/verification.md). From sm_90
// on it is less than half of it, of 2 steps of 16.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr float kCutOff = 0;
#else
constexpr float kCutOff = 0x1p-23f;
#endif

// What was cut off is made up for in the mean. Sums that look as if nothing was cut off stay as
// they are: those of whole numbers that need no more than 20 bits.
__device__ inline float whole_sum(float sum) {
  if constexpr (kCutOff == 0) return sum;
  constexpr unsigned kLastBits = 15;
  const bool may_be_exact = (__float_as_uint(sum) & kLastBits) == 0;
  return may_be_exact ? sum : sum + kCutOff * sum;
}

using Place = WarpPlace<warps_n(kP), kP.WM, kP.WN>;
using Fragments = WarpBlocks<kBlocksM, kBlocksN>;  // of one part

// Four of each 16 x 8 part of the warp's tile.
struct Sums {
  float x[kBlocksM][2 * kBlocksN][4];

  __device__ void multiply(const MmaBlock (&a)[kBlocksM], const MmaBlock (&b)[kBlocksN]) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; ++j) {
        multiply_blocks<kPartType, kP.MMA_K>(x[i][j], a[i], b[j / 2], j % 2);
      }
    }
  }

  template <class Change>
  __device__ void for_each(Change change) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * kBlocksN; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) change(x[i][j][k], i, j, k);
      }
    }
  }
};

// An operand as the call has it, and one of its tiles.
struct TileOfOperand {
  const parts::OperandCopy& copy;
  long long stored_ld, stride;  // of the operand, not of a copy
  int batch, lines;             // of a matrix
  int first;                    // of the tile's lines
  int parts_k, K;

  __device__ int lines_left() const { return lines - first; }
};

__device__ inline TileOfOperand tile_of_a(const Args& of, int batch, int row, int parts_k) {
  return {of.a, of.lda, of.stride_a, batch, of.M, row, parts_k, of.K};
}
__device__ inline TileOfOperand tile_of_b(const Args& of, int batch, int col, int parts_k) {
  return {of.b, of.ldb, of.stride_b, batch, of.N, col, parts_k, of.K};
}

// The lines of a tile of an operand that is split.
struct Operand {
  const Bits16* high;
  long long to_next;  // elements, from a part to the next one
  int lines_left;     // from the tile's first one on

  explicit __device__ Operand(const TileOfOperand& of)
      : high(reinterpret_cast<const Bits16*>(of.copy.at) +
             (1LL * kParts * of.batch * of.lines + of.first) * of.parts_k),
        to_next(1LL * of.lines * of.parts_k),
        lines_left(of.lines_left()) {}
};

// Those of one that is not split, in its rows or in copies of these.
template <bool ALONG_K>
struct StoredOperand {
  const Bits16* first;
  long long ld;
  int lines_left, K;

  explicit __device__ StoredOperand(const TileOfOperand& of)
      : ld(of.stored_ld), lines_left(of.lines_left()), K(of.K) {
    long long stride = of.stride;
    if (of.copy.factors_at > 0) {
      ld = of.copy.factors_at;
      stride = ld * (ALONG_K ? of.lines : of.K);
    }
    first = reinterpret_cast<const Bits16*>(of.copy.at) + of.batch * stride +
            (ALONG_K ? of.first * ld : of.first);
  }
};

// Copies of PARTS parts of an operand's tile, whose slices lie one after the other.
template <int EDGE, int PARTS = kParts>
class PartCopies {
 public:
  __device__ PartCopies(const Operand& of, int parts_k) : PartCopies(of, of.high, parts_k) {}
  // part: the first of them.
  __device__ PartCopies(const Operand& of, const Bits16* part, int parts_k)
      : own_(part, parts_k, of.lines_left), others_(of, part + of.to_next, parts_k) {}

  // Sets out for a share of the next slice.
  template <int SHARE, int SHARES>
  __device__ void begin(Bits16* smem) {
    own_.template begin<true, SHARE, SHARES>(smem, kP.BK);
    others_.template begin<SHARE, SHARES>(smem + EDGE * kP.BK);
  }
  __device__ void finish(Bits16* smem) const {
    own_.finish(smem);
    others_.finish(smem + EDGE * kP.BK);
  }

 private:
  Copy<EDGE, true> own_;
  PartCopies<EDGE, PARTS - 1> others_;
};

template <int EDGE>
class PartCopies<EDGE, 0> {
 public:
  __device__ PartCopies(const Operand&, const Bits16*, int) {}
  template <int, int>
  __device__ void begin(Bits16*) {}
  __device__ void finish(Bits16*) const {}
};

// Of an operand that is not split.
template <int EDGE, bool ALONG_K>
class StoredCopy {
 public:
  __device__ StoredCopy(const StoredOperand<ALONG_K>& of, int)
      : own_(of.first, of.ld, of.lines_left), k_left_(of.K) {}

  template <int SHARE, int SHARES>
  __device__ void begin(Bits16* smem) {
    own_.template begin<false, SHARE, SHARES>(smem, k_left_);
    if constexpr (SHARE == SHARES - 1) k_left_ -= kP.BK;
  }
  __device__ void finish(Bits16* smem) const { own_.finish(smem); }

 private:
  Copy<EDGE, ALONG_K> own_;
  int k_left_;  // from the next slice on; in the padding of the other operand's lines below 0
};

template <int EDGE, int PARTS, bool ALONG_K>
using Copies = typename Select<(PARTS > 1), PartCopies<EDGE>, StoredCopy<EDGE, ALONG_K>>::Type;
template <int PARTS, bool ALONG_K>
using OperandOf = typename Select<(PARTS > 1), Operand, StoredOperand<ALONG_K>>::Type;
using OperandA = OperandOf<kPartsA, a_along_k(kP)>;
using OperandB = OperandOf<kPartsB, b_along_k(kP)>;

// One tile: brings its slices in and multiplies them.
//
// Tensor cores cut their sums off, and the more steps a sum has, the more it loses. The sums of 32
// k are therefore begun anew and then added in fp32, rounded to nearest. Products of low parts are
// added up first; those of f16 count 2^-11 of the others, and their sums are scaled, which is
// exact.
//
// Blocks are loaded while others are multiplied. A warp has loaded all blocks of a slice before it
// multiplies the last ones; there, where its multiplications hide the wait, it meets the others:
// the next slice is whole then, and the stage of this one is free. Slices on their way in registers
// arrive after the last multiplication.
class Segment {
 public:
  __device__ Segment(const OperandA& a, const OperandB& b, int parts_k, Bits16* a_smem,
                     Bits16* b_smem, const Place& place)
      : a_copies_(a, parts_k),
        b_copies_(b, parts_k),
        a_places_(place.row),
        b_places_(place.col),
        a_smem_(a_smem),
        b_smem_(b_smem),
        slices_(parts_k / kP.BK),
        to_copy_(slices_) {}

  __device__ void multiply(Sums& sums) {
    if (slices_ == 0) return;
      // All stages but one on their way, the first of them there.
#pragma unroll 1
    for (int stage = 0; stage < kP.STAGES - 1; ++stage) {
      begin_copy<0, 1>();
      finish_copy();
      end_copy();
    }
    synchronise();
    load_first();
#pragma unroll 1
    for (; slices_ > 0; --slices_) multiply_windows<0>(sums);
    sums.for_each([](float& x, int, int, int) { x = whole_sum(x); });
  }

 private:
  static constexpr int kHigh = 0, kLowest = kParts - 1;
  static constexpr int kWindows = kP.BK / kPromotedEach;  // of a slice
  static constexpr int kSteps = kPromotedEach / kDepth;   // of a window
  static_assert(kSteps == 2);

  // From a window on all of a slice. The first step's blocks are loaded, before and after.
  template <int WINDOW>
  __device__ void multiply_windows(Sums& sums) {
    constexpr int kSecond = WINDOW * kSteps + 1;
    constexpr bool kIsLast = WINDOW == kWindows - 1;
    Sums window = {};
    load_a(high_[1], kHigh, kSecond);
    load_b(high_[1], kHigh, kSecond);
    begin_copy<2 * WINDOW, 2 * kWindows>();
    multiply_low_parts<WINDOW, 0, kLowest>(window);
    begin_copy<2 * WINDOW + 1, 2 * kWindows>();
    multiply_low_parts<WINDOW, 1, kLowest>(window);
    if constexpr (kIsScaled) {
      window.for_each([](float& x, int, int, int) { x *= 1 / parts::kLowScale; });
    }
    // Of an operand that is not split nobody has asked for infinities, whose products by low parts
    // of 0 are NaN. Those by high parts, which only of 0 are 0, tell what fp32's own sum is.
    if constexpr (!kAreBothSplit) {
      window.for_each([](float& x, int, int, int) { x = isfinite(x) ? x : 0.0f; });
    }
    window.multiply(high_[0].a, high_[0].b);
    if constexpr (!kIsLast) {
      load_step(kSecond + 1);
    } else if constexpr (kAsync) {
      meet_next_slice();
    }
    window.multiply(high_[1].a, high_[1].b);
    sums.for_each([&](float& x, int i, int j, int k) { x += window.x[i][j][k]; });
    if constexpr (kIsLast && !kAsync) meet_next_slice();
    if constexpr (!kIsLast) multiply_windows<WINDOW + 1>(sums);
  }

  // Of a k step of a window the products of PART, which is loaded, and of higher ones but the
  // highest. Loads the next part or step.
  template <int WINDOW, int STEP, int PART>
  __device__ void multiply_low_parts(Sums& window) {
    constexpr bool kIsLast = PART == 1 && STEP + 1 == kSteps;
    constexpr int kNext = PART > 1 ? PART - 1 : kLowest;
    constexpr int kNextStep = WINDOW * kSteps + STEP + (PART > 1 ? 0 : 1);
    if constexpr (kAreBothSplit && !kIsScaled && PART == 1) {
      window.multiply(low_.a, low_.b);  // middle by middle
    }
    if constexpr (kPartsA > 1) {
      window.multiply(low_.a, high_[STEP].b);
      if constexpr (!kIsLast) load_a(low_, kNext, kNextStep);
    }
    if constexpr (kPartsB > 1) {
      window.multiply(high_[STEP].a, low_.b);
      if constexpr (!kIsLast) load_b(low_, kNext, kNextStep);
    }
    if constexpr (PART > 1) multiply_low_parts<WINDOW, STEP, PART - 1>(window);
  }

  __device__ void meet_next_slice() {
    read_ = next(read_);
    finish_copy();
    end_copy();
    synchronise();
    load_first();
  }

  static __device__ int next(int stage) { return stage + 1 == kP.STAGES ? 0 : stage + 1; }

  // The next slice's way into a stage, in shares: what cp.async does not bring waits in registers.
  template <int SHARE, int SHARES>
  __device__ void begin_copy() {
    if (to_copy_ == 0) return;
    a_copies_.template begin<SHARE, SHARES>(a_smem_ + write_ * kPartsA * slice_a(kP));
    b_copies_.template begin<SHARE, SHARES>(b_smem_ + write_ * kPartsB * slice_b(kP));
  }
  __device__ void finish_copy() {
    if (to_copy_ == 0) return;
    a_copies_.finish(a_smem_ + write_ * kPartsA * slice_a(kP));
    b_copies_.finish(b_smem_ + write_ * kPartsB * slice_b(kP));
  }
  __device__ void end_copy() {
    if constexpr (kAsync) commit_copies();
    to_copy_ -= to_copy_ > 0 ? 1 : 0;
    write_ = next(write_);
  }

  // The next stage to read is whole, for all threads, and the last one read is free.
  static __device__ void synchronise() {
    if constexpr (kAsync) wait_copies<kP.STAGES - 2>();
    __syncthreads();
  }

  // Of the stage to read.
  __device__ void load_a(Fragments& of, int part, int step) const {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      a_places_.load(of.a[i], a_smem_, (read_ * kPartsA + part) * slice_a(kP), i, step);
    }
  }
  __device__ void load_b(Fragments& of, int part, int step) const {
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      b_places_.load(of.b[j], b_smem_, (read_ * kPartsB + part) * slice_b(kP), j, step);
    }
  }
  // The first step of a window.
  __device__ void load_step(int step) {
    if constexpr (kPartsA > 1) load_a(low_, kLowest, step);
    load_b(high_[0], kHigh, step);
    load_a(high_[0], kHigh, step);
    if constexpr (kPartsB > 1) load_b(low_, kLowest, step);
  }
  __device__ void load_first() { load_step(0); }

  Copies<kP.BM, kPartsA, a_along_k(kP)> a_copies_;
  Copies<kP.BN, kPartsB, b_along_k(kP)> b_copies_;
  const Places<MmaOperand::a, kP.BM, a_along_k(kP), kP.WM> a_places_;
  const Places<MmaOperand::b, kP.BN, b_along_k(kP), kP.WN> b_places_;
  Bits16* const a_smem_;
  Bits16* const b_smem_;
  int slices_, to_copy_;  // left to multiply, and to set out
  int read_ = 0, write_ = 0;
  Fragments high_[kSteps], low_;
};

extern "C" __global__ void __launch_bounds__(parts::kMostSplitThreads, parts::kSplitCtas)
    split(const __grid_constant__ parts::SplitArgs args) {
  parts::split_operands<kPartsA, kPartsB, kP.TA == 0, kP.TB != 0,
                        kIsScaled ? parts::Across::long_strips : parts::Across::wide_strips>(args);
}

extern "C" __global__ void __launch_bounds__(threads(kP)) gemm(const __grid_constant__ Args args) {
  SharedMemory smem;
  float* const a_smem = smem.take(smem_floats_a(kP));
  float* const b_smem = smem.take(smem_floats_b(kP));
  const int thread = static_cast<int>(threadIdx.x);
  const parts::Losing losing = parts::read_flags<kPartsA, kPartsB>(args);
  if (losing.are_too_many()) {
    using Product = parts::Fp32Product<threads(kP), kP.TA == 0, kP.TB != 0, kP.TYPE_A, kP.TYPE_B>;
    static_assert(Product::kFloatsOfA == fp32_floats_of_a(kP) &&
                  Product::kFloatsOfA <= smem_floats_a(kP) &&
                  Product::kFloatsOfB <= smem_floats_b(kP));
    Product(args, a_smem, b_smem, thread).run();
    return;
  }
  if constexpr (kAreLinesTold) {
    if (!losing.are_none()) parts::store_losing<kP.TA == 0, kP.TB != 0>(args, losing, thread / 32);
  }
  const TilePlace tile = tile_place(args.tiles, static_cast<int>(blockIdx.x));
  const int row = tile.row * kP.BM, col = tile.col * kP.BN;
  const int parts_k = parts::k_blocks_of(args) * parts::kPaddedK;
  const Place place(thread);
  Sums sums = {};
  const OperandA a(tile_of_a(args, tile.matrix, row, parts_k));
  const OperandB b(tile_of_b(args, tile.matrix, col, parts_k));
  Segment(a, b, parts_k, reinterpret_cast<Bits16*>(a_smem), reinterpret_cast<Bits16*>(b_smem),
          place)
      .multiply(sums);
  const parts::Output output(args, tile.matrix);
  using Store = parts::SumStore<kBlock, kBlocksM, kP.WN, (kPartsA > 1), (kPartsB > 1)>;
  Store(output, {row + place.row, col + place.col}, thread % 32)
      .store(reinterpret_cast<const Store::Sums&>(sums.x));
}

}  // namespace gemm_tune::mma_parts
