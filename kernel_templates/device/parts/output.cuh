// SPDX-License-Identifier: Apache-2.0
// From sums to D: D = alpha * sum + beta * C, and the epilogue on that. beta == 0 never reads C.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/parts/args.cuh"
#include "kernel_templates/device/parts/split_shape.cuh"

namespace gemm_tune::parts {

// Blocks of kPaddedK along K: none where alpha is 0, and A and B are not read.
__device__ inline int k_blocks_of(const Args& args) {
  return args.alpha == 0.0f ? 0 : (args.K + kPaddedK - 1) / kPaddedK;
}

// How many lines lose numbers: rows of A, and columns of B 2^16 times. Elements of D on these lines
// are computed in fp32 (losing_lines.cuh), or all of D where they are too many: then below 0.
struct Losing {
  int lines;

  __device__ bool are_none() const { return lines == 0; }
  __device__ bool are_too_many() const { return lines < 0; }
  __device__ int rows() const { return lines & 0xffff; }
  __device__ int cols() const { return lines >> 16; }
};

// Of one matrix of the batch.
class Output {
 public:
  __device__ Output(const Args& args, int batch) : args_(args), batch_(batch) {}

  // Precondition: the line exists, and numbers of some lines are lost.
  __device__ bool loses_row(int row) const { return factors_of_rows()[row] < 0; }

  __device__ const float* factors_of_rows() const {
    return factors_of(args_.a) + 1LL * batch_ * args_.M;
  }
  __device__ const float* factors_of_cols() const {
    return factors_of(args_.b) + 1LL * batch_ * args_.N;
  }
  __device__ bool has_factors() const { return k_blocks_of(args_) > 0; }
  __device__ int rows() const { return args_.M; }
  __device__ int cols() const { return args_.N; }

  // Whether pairs of neighbours, the first one's column even, lie at multiples of 8 bytes.
  __device__ bool has_pairs() const {
    const unsigned long long bits =
        reinterpret_cast<unsigned long long>(args_.D) / sizeof(float) | args_.ldd | args_.stride_d;
    return bits % 2 == 0;
  }

  // Whether a part of the tile that ends before this row and column lies within D, and the sums
  // times alpha are all that is stored.
  __device__ bool is_usual(int row_end, int col_end) const {
    return !kHasEpilogue && args_.beta == 0.0f && has_factors() && row_end <= args_.M &&
           col_end <= args_.N;
  }

  __device__ float* address(int row, int col) const { return args_.D + place_of(row, col); }
  __device__ float scaled(float sum) const { return args_.alpha * sum; }

  __device__ float finished(float sum, int row, int col) const {
    const long long at = place_of(row, col);
    float value[1] = {args_.alpha == 0.0f ? 0.0f : args_.alpha * sum};
    if (args_.beta != 0.0f) value[0] += args_.beta * (kInPlace ? args_.D : args_.C)[at];
    if constexpr (kHasEpilogue) {
      EpilogueChain::apply<kTypeF32>(value, {row, col, at}, args_.operands);
    }
    return value[0];
  }

  __device__ void store(float sum, int row, int col) const {
    args_.D[place_of(row, col)] = finished(sum, row, col);
  }

 private:
  __device__ static const float* factors_of(const OperandCopy& copy) {
    return reinterpret_cast<const float*>(copy.at + copy.factors_at);
  }
  __device__ long long place_of(int row, int col) const {
    return batch_ * args_.stride_d + row * args_.ldd + col;
  }

  const Args& args_;
  const int batch_;
};

// A sum of products of scaled lines, as it was before: the smaller factor first, so that nothing
// overflows on the way to a number that does not.
__device__ inline float unscaled(float sum, float factor, float other) {
  return sum * fminf(factor, other) * fmaxf(factor, other);
}

// A part of a tile: its first row and column.
struct Place {
  int row, col;
};

// Stores the sums of a part of a tile, of BLOCKS times BLOCK_ROWS rows, a warp's or a warpgroup's.
// A thread has of each block of 8 columns elements 2 (t % 4) and the next one, of rows 16 (t / 32)
// + t % 32 / 4 and that row + 8 of each BLOCK_ROWS.
//
// Code that is written out for each element would not fit the instruction cache beside the main
// loop. Tiles in the usual case get short code that is written out, all others a loop over blocks,
// whose factors are loaded a block ahead: the compiler may not move loads over stores.
//
// OF_ROWS, OF_COLS: whether A's and B's copies have factors; those of an operand of one part are 1.
// Sums on lines that lose numbers, whose factors are below 0, are not stored.
template <int BLOCK_ROWS, int BLOCKS, int COLS, bool OF_ROWS = true, bool OF_COLS = true>
class SumStore {
 public:
  // Of a thread.
  using Sums = float[BLOCKS][COLS / 2];

  // thread: of those that share the part.
  __device__ SumStore(const Output& output, Place place, int thread)
      : output_(output),
        row_(place.row + thread / 32 * 16 + thread % 32 / 4),
        col_(place.col + thread % 4 * 2),
        quad_(thread % 4),
        is_usual_(output.is_usual(place.row + BLOCKS * BLOCK_ROWS, place.col + COLS)) {}

  __device__ void store(const Sums& sums) const {
    if (is_usual_) {
      const Factors factors = loaded_factors();
      if (!lose_numbers(factors)) {
        if (output_.has_pairs()) {
          store_usual<true>(sums, factors);
        } else {
          store_usual<false>(sums, factors);
        }
        return;
      }
    }
    store_any(sums);
  }

 private:
  static constexpr int kHalves = 2, kColBlocks = COLS / 8;

  __device__ static int row_of(int i, int half) { return i * BLOCK_ROWS + half * 8; }

  // Of a thread.
  struct Factors {
    float2 cols[kColBlocks];
    float rows[BLOCKS][kHalves];
  };

  // Before the first element is stored: the compiler cannot know that D is elsewhere.
  __device__ Factors loaded_factors() const {
    Factors factors;
#pragma unroll
    for (int block = 0; block < kColBlocks; ++block) {
      const float* const pair = output_.factors_of_cols() + col_ + block * 8;
      factors.cols[block] = OF_COLS ? float2{pair[0], pair[1]} : float2{1, 1};
    }
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        factors.rows[i][half] = OF_ROWS ? output_.factors_of_rows()[row_ + row_of(i, half)] : 1.0f;
      }
    }
    return factors;
  }

  // Whether some line of the warp does.
  __device__ static bool lose_numbers(const Factors& factors) {
    unsigned signs = 0;
#pragma unroll
    for (const float2& pair : factors.cols) {
      signs |= __float_as_uint(pair.x) | __float_as_uint(pair.y);
    }
#pragma unroll
    for (const auto& halves : factors.rows) {
#pragma unroll
      for (const float factor : halves) signs |= __float_as_uint(factor);
    }
    return __any_sync(0xffffffffu, signs >> 31 != 0) != 0;
  }

  template <bool PAIRS>
  __device__ void store_usual(const Sums& sums, const Factors& factors) const {
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        float* const to = output_.address(row_ + row_of(i, half), col_);
        const auto scaled = [&](int block) -> float2 {
          const float* const pair = sums[i] + block * 4 + half * 2;
          return {output_.scaled(unscaled(pair[0], factors.rows[i][half], factors.cols[block].x)),
                  output_.scaled(unscaled(pair[1], factors.rows[i][half], factors.cols[block].y))};
        };
        if constexpr (PAIRS) {
#pragma unroll
          for (int block = 0; block < kColBlocks; ++block) {
            *reinterpret_cast<float2*>(to + block * 8) = scaled(block);
          }
        } else {
          store_row(to, scaled);
        }
      }
    }
  }

  // A row whose even columns may lie at odd multiples of 4 bytes: pairs then begin at odd columns,
  // and their second number is the first one of the thread beside this one, of the last thread of
  // four the first one of the next block. scaled(block): the thread's numbers of a block.
  template <class Scaled>
  __device__ void store_row(float* to, const Scaled& scaled) const {
    const int odd = static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(float) % 2);
    float2 pair = scaled(0);
    if (odd != 0 && quad_ == 0) to[0] = pair.x;
#pragma unroll
    for (int block = 0; block < kColBlocks; ++block) {
      const bool is_last = block == kColBlocks - 1;
      const float2 next = is_last ? float2{} : scaled(block + 1);
      const float beside =  // of the thread 1 further, modulo 4
          __shfl_xor_sync(0xffffffffu, quad_ == 0 ? next.x : pair.x, quad_ % 2 == 0 ? 1 : 3);
      if (is_last && odd != 0 && quad_ == 3) {
        to[block * 8 + 1] = pair.y;
      } else {
        *reinterpret_cast<float2*>(to + block * 8 + odd) = odd == 0 ? pair : float2{pair.y, beside};
      }
      pair = next;
    }
  }

  __device__ void store_any(const Sums& sums) const {
    float of_all_rows[BLOCKS][kHalves];
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        of_all_rows[i][half] = factor_of_row(row_ + row_of(i, half));
      }
    }
    float2 of_cols = factors_of_cols(0);
#pragma unroll 1
    for (int block = 0; block < BLOCKS * kColBlocks; ++block) {
      const float2 of_next_cols = factors_of_cols(block + 1);  // ahead of this block's stores
      float of_block[4] = {}, of_rows[kHalves] = {};
#pragma unroll
      for (int known = 0; known < BLOCKS * kColBlocks; ++known) {  // registers have no index
        if (known != block) continue;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          of_block[j] = sums[known / kColBlocks][known % kColBlocks * 4 + j];
          of_rows[j / 2] = of_all_rows[known / kColBlocks][j / 2];
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = row_ + row_of(block / kColBlocks, j / 2), col = col_of(block) + j % 2;
        const float of_row = of_rows[j / 2], of_col = j % 2 == 0 ? of_cols.x : of_cols.y;
        if (row >= output_.rows() || col >= output_.cols()) continue;
        if (fminf(of_row, of_col) < 0) continue;
        output_.store(unscaled(of_block[j], of_row, of_col), row, col);
      }
      of_cols = of_next_cols;
    }
  }

  __device__ int col_of(int block) const { return col_ + block % kColBlocks * 8; }

  __device__ float2 factors_of_cols(int block) const {
    return {factor_of_col(col_of(block)), factor_of_col(col_of(block) + 1)};
  }

  // 0 where nothing was multiplied, and of a line that does not exist.
  __device__ float factor_of_row(int row) const {
    if constexpr (!OF_ROWS) return 1;
    if (!output_.has_factors() || row >= output_.rows()) return 0;
    return output_.factors_of_rows()[row];
  }
  __device__ float factor_of_col(int col) const {
    if constexpr (!OF_COLS) return 1;
    if (!output_.has_factors() || col >= output_.cols()) return 0;
    return output_.factors_of_cols()[col];
  }

  const Output& output_;
  const int row_, col_, quad_;
  const bool is_usual_;
};

}  // namespace gemm_tune::parts
