// SPDX-License-Identifier: Apache-2.0
// What the kernel before the product does: splits each element x of A and B into two f16 parts, so
// that x = factor (high + low / 2^11) but for what lies below the low part, or into three bf16
// parts, whose sum is x. The factor of the latter is 1.
//
// That of the former is a power of two, one for each line: a row of A or a column of B. Lines of
// parts lie along K, padded by zeros to whole stages, whatever the operands' layouts. What of a
// line the registers do not hold is read twice, for its largest magnitude and for its parts.
// Numbers that the parts do not hold set a flag. Of
// f16: those far below the largest one of their line, of which the parts lose more than kMostLost.
// Of bf16: some of those below 2^-110, and those that round to infinity. Of both: infinities and
// NaN.
//
// An operand of 16 bits beside one of f32 is not split. The product reads it where it is, or, where
// its rows are not aligned, a copy of it.
#pragma once

#include "kernel_templates/device/parts/line_parts.cuh"
#include "kernel_templates/device/parts/wide_strip.cuh"
#include "kernel_templates/device/tile/named_barrier.cuh"
#include "kernel_templates/device/tile/smem.cuh"

namespace gemm_tune::parts {

// The line of a thread and its chunks there: from element `first` on, every `step` elements.
struct Share {
  int line, first, step;
};

// Chunk after chunk of a thread's share of a line that lies along K, zeros behind its end.
class AlongK {
 public:
  __device__ AlongK(const Lines& lines, const Share& share, int K)
      : at_(lines.from + share.line * lines.matrix.ld + share.first),
        left_(K - share.first),
        step_(share.step) {}

  __device__ bool is_at_end() const { return left_ <= 0; }

  __device__ void next(float (&x)[kChunk]) {
    const bool is_aligned = reinterpret_cast<unsigned long long>(at_) % 16 == 0;
    if (is_aligned && left_ >= kChunk) {
#pragma unroll
      for (int i = 0; i < kChunk; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(at_ + i);
        x[i] = four.x;
        x[i + 1] = four.y;
        x[i + 2] = four.z;
        x[i + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) x[i] = i < left_ ? at_[i] : 0.0f;
    }
    at_ += step_;
    left_ -= step_;
  }

 private:
  const float* at_;
  int left_;  // elements
  const int step_;
};

// The same of a line across the rows of a matrix. Neighbours in the warp have neighbouring lines,
// which makes the sectors whole. No branch parts the loads, so that all are under way at once.
class AcrossRows {
 public:
  __device__ AcrossRows(const Lines& lines, const Share& share, int K)
      : at_(lines.from + share.line + share.first * lines.matrix.ld),
        ld_(lines.matrix.ld),
        left_(K - share.first),
        step_(share.step) {}

  __device__ bool is_at_end() const { return left_ <= 0; }

  __device__ void next(float (&x)[kChunk]) {
    const float* from = at_;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      x[i] = load_sector(from, i < left_);
      from += ld_;
    }
    at_ += step_ * ld_;
    left_ -= step_;
  }

 private:
  const float* at_;
  const long long ld_;
  int left_;  // elements
  const int step_;
};

// HAS_REST: the line may be longer than what its threads keep. largest_of_line: what makes of its
// threads' largest magnitudes the line's.
template <int PARTS, bool ALONE, class Line, bool HAS_REST, class LargestOfLine>
__device__ inline void split_line(const Lines& lines, const SplitArgs& args, const Share& share,
                                  LargestOfLine largest_of_line) {
  const bool exists = share.line < lines.matrix.lines;
  const int K = exists ? args.K : 0, parts_k = exists ? args.parts_k : 0;
  Line line(lines, share, K);
  float kept[kKeptChunks][kChunk], x[kChunk];
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) line.next(kept[i]);
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) largest = larger_of_chunk(largest, kept[i]);
  if constexpr (HAS_REST) {
#pragma unroll 1
    while (!line.is_at_end()) {
      line.next(x);
      largest = larger_of_chunk(largest, x);
    }
  }
  largest = largest_of_line(largest);
  const int exponent = scale_exponent(largest);
  if (exists && share.first == 0) lines.factors[share.line] = ldexpf(1.0f, -exponent);
  const float scale = ldexpf(1.0f, exponent);
  LineParts<PARTS, ALONE> parts(lines, args, share.line);
  int k = share.first;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i, k += share.step) {
    if (k < parts_k) parts.put(k, kept[i], scale);
  }
  if constexpr (HAS_REST) {
    Line again(lines, {share.line, k, share.step}, K);
#pragma unroll 1
    for (; k < parts_k; k += share.step) {
      again.next(x);
      parts.put(k, x, scale);
    }
  }
  if (parts.lose()) *args.flag = 1;
}

// The same of a line that is not scaled.
template <int PARTS, class Line>
__device__ inline void split_unscaled_line(const Lines& lines, const SplitArgs& args,
                                           const Share& share) {
  if (share.line >= lines.matrix.lines) return;
  if (share.first == 0) lines.factors[share.line] = 1;
  Line line(lines, share, args.K);
  LineParts<PARTS> parts(lines, args, share.line);
#pragma unroll 1
  for (int k = share.first; k < args.parts_k;) {
    float x[kKeptChunks][kChunk];
#pragma unroll
    for (auto& chunk : x) line.next(chunk);
#pragma unroll
    for (int i = 0; i < kKeptChunks; ++i, k += share.step) {
      if (k < args.parts_k) parts.put(k, x[i], 1);
    }
  }
  if (parts.lose()) *args.flag = 1;
}

// Lines along K: each by a warp, or by a team of warps.
template <int PARTS, bool ALONE>
__device__ inline void split_along_k(const Lines& lines, const SplitArgs& args, int cta) {
  constexpr int kBarrier = 1;
  const int thread = static_cast<int>(threadIdx.x);
  const int team = team_of(args.K);
  const int lines_of_cta = static_cast<int>(blockDim.x) / team;
  const Share share = {cta * lines_of_cta + thread / team, thread % team * kChunk, team * kChunk};
  if constexpr (!is_scaled(PARTS)) return split_unscaled_line<PARTS, AlongK>(lines, args, share);
  if (share.line >= lines.matrix.lines) return;  // whole teams
  split_line<PARTS, ALONE, AlongK, true>(lines, args, share, [&](float value) {
    value = largest_of_lanes(value, 1);
    if (team == 32) return value;
    const int number = thread / team, warps = team / 32;
    float* const of_warps = reinterpret_cast<float*>(shared_memory());
    if (thread % 32 == 0) of_warps[thread / 32] = value;
    meet(kBarrier + number, team);
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[number * warps + warp]);
    }
    return value;
  });
}

// Lines across the rows: a few by a CTA, which keeps short ones.
template <int PARTS, bool ALONE, bool HAS_REST>
__device__ inline void split_strip(const Lines& lines, const SplitArgs& args, int cta) {
  const int thread = static_cast<int>(threadIdx.x), own = thread % kStrip;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const Share share = {cta * kStrip + own, thread / kStrip * kChunk,
                       static_cast<int>(blockDim.x) / kStrip * kChunk};
  split_line<PARTS, ALONE, AcrossRows, HAS_REST>(lines, args, share, [&](float value) {
    float* const of_warps = reinterpret_cast<float*>(shared_memory());
    value = largest_of_lanes(value, kStrip);
    if (thread % 32 < kStrip) of_warps[thread / 32 * kStrip + own] = value;
    __syncthreads();
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[warp * kStrip + own]);
    }
    return value;
  });
}

// Of lines across the rows: strips that a CTA keeps, strips of any K, or wide ones, which are a
// cluster's where they are scaled.
enum class Across { short_strips, long_strips, wide_strips };

// A share of the rows of an operand of 16 bits. What is behind a row's end nobody reads.
template <bool ALONG_K>
__device__ inline void copy_rows(const SplitMatrix& matrix, const SplitArgs& args, int batch,
                                 int share) {
  const int rows = ALONG_K ? matrix.lines : args.K, length = ALONG_K ? args.K : matrix.lines;
  const int chunks = copied_row(length) / kChunk, threads = static_cast<int>(blockDim.x);
  const Bits16* const from = reinterpret_cast<const Bits16*>(matrix.from) + batch * matrix.stride;
#pragma unroll 1
  for (int i = 0; i < kCopiedChunks; ++i) {
    const long long own =
        (1LL * share * kCopiedChunks + i) * threads + static_cast<int>(threadIdx.x);
    const long long row = own / chunks;
    if (row >= rows) return;
    const int first = static_cast<int>(own % chunks) * kChunk;
    const auto element = [&](int at) -> unsigned {
      return at < length ? from[row * matrix.ld + at] : 0u;
    };
    PartChunk chunk;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      chunk.pairs[j] = element(first + 2 * j) | element(first + 2 * j + 1) << 16;
    }
    store_chunk(matrix.to + ((1LL * batch * rows + row) * chunks * kChunk + first), chunk);
  }
}

// unit: the CTAs of one place along the grid's x, of the operand's. They share a wide strip; else
// each has lines of its own. ALONE: the other operand has one part.
template <int PARTS, bool ALONE, bool ALONG_K, Across ACROSS>
__device__ inline void split_matrix(const SplitMatrix& matrix, const SplitArgs& args, int unit) {
  constexpr bool kIsWide = ACROSS == Across::wide_strips && PARTS > 1;
  const int own = static_cast<int>(gridDim.y) * unit + static_cast<int>(blockIdx.y);
  const int share = ALONG_K || !kIsWide ? own : unit;
  const int batch = share / matrix.shares, in_matrix = share % matrix.shares;
  if (batch >= args.batch) return;
  if constexpr (PARTS == 1) return copy_rows<ALONG_K>(matrix, args, batch, in_matrix);
  const long long first = 1LL * batch * matrix.lines;
  float* const factors =
      reinterpret_cast<float*>(reinterpret_cast<char*>(matrix.to) + matrix.factors_at);
  const Lines lines = {matrix, matrix.from + batch * matrix.stride, first, factors + first};
  if constexpr (ALONG_K) {
    split_along_k<PARTS, ALONE>(lines, args, in_matrix);
  } else if constexpr (kIsWide) {
    split_wide_strip<PARTS, ALONE>(lines, args, in_matrix);
  } else {
    split_strip<PARTS, ALONE, ACROSS == Across::long_strips>(lines, args, in_matrix);
  }
}

// All of a CTA's.
template <int PARTS_A, int PARTS_B, bool A_ALONG_K, bool B_ALONG_K, Across ACROSS>
__device__ inline void split_operands(const SplitArgs& args) {
  const int unit = static_cast<int>(blockIdx.x);
  if (unit < args.units_a) {
    split_matrix<PARTS_A, PARTS_B == 1, A_ALONG_K, ACROSS>(args.a, args, unit);
  } else {
    split_matrix<PARTS_B, PARTS_A == 1, B_ALONG_K, ACROSS>(args.b, args, unit - args.units_a);
  }
}

}  // namespace gemm_tune::parts
