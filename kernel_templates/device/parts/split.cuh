// SPDX-License-Identifier: Apache-2.0
// What the kernel before the product does: splits each element x of A and B into two f16 parts, so
// that x = factor (high + low / 2^11) but for what lies below the low part, or into three bf16
// parts, whose sum is x. The factor of the latter is 1.
//
// That of the former is a power of two, one for each line: a row of A or a column of B. Lines of
// parts lie along K, padded by zeros to whole stages, whatever the operands' layouts. What of a
// line the registers do not hold is read twice, for its largest magnitude and for its parts.
// Lines with numbers that the parts do not hold are told to the product, where both operands are
// split in two parts; else that there are such lines. Of f16: numbers far below the largest one of
// their line, of which the high part is not all (kLeastScaled). Of bf16: some of those below
// 2^-110, and those that round to infinity. Of both: infinities and NaN.
//
// An operand of 16 bits beside one of f32 is not split. The product reads it where it is, or, where
// its rows are not aligned, a copy of it.
#pragma once

#include "kernel_templates/device/parts/line_parts.cuh"
#include "kernel_templates/device/parts/wide_strip.cuh"
#include "kernel_templates/device/tile/named_barrier.cuh"
#include "kernel_templates/device/tile/smem.cuh"

namespace gemm_tune::parts {

// Where a CTA's lines are: a matrix of the batch, and its share of that one's lines. OF_B: of which
// operand. WIDE: the CTAs of one place along the grid's x share lines, else each has lines of its
// own.
struct CtaShare {
  int batch, share;
};
template <bool OF_B, bool WIDE>
__device__ inline CtaShare share_of_cta(const SplitArgs& args) {
  const int unit = static_cast<int>(blockIdx.x) - (OF_B ? args.units_a : 0);
  const int own = static_cast<int>(gridDim.y) * unit + static_cast<int>(blockIdx.y);
  const int share = WIDE ? unit : own, shares = (OF_B ? args.b : args.a).shares;
  return {share / shares, share % shares};
}

// The line of a thread, also by its number among those of the CTA, and its chunks there: from
// element `first` on, every `step` elements.
struct Share {
  int line, own, first, step;
};

// ALONG_K: a line is a warp's, or a team's of warps. Else lines lie across the rows, and a few are
// a CTA's.
template <bool ALONG_K>
__device__ inline Share share_of_thread(const SplitArgs& args, int share) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if constexpr (ALONG_K) {
    const int team = team_of(args.K), own = thread / team;
    return {share * (threads / team) + own, own, thread % team * kChunk, team * kChunk};
  } else {
    const int own = thread % kStrip;
    return {share * kStrip + own, own, thread / kStrip * kChunk, threads / kStrip * kChunk};
  }
}

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

// Whether the thread's share loses numbers. HAS_REST: the line may be longer than what its threads
// keep. largest_of_line: what makes of its threads' largest magnitudes the line's.
template <int PARTS, class Line, bool HAS_REST, class LargestOfLine>
__device__ inline bool split_line(const Lines& lines, const SplitArgs& args, const Share& share,
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
  const float scale = scale_of(largest, exponent);
  LineParts<PARTS> parts(lines, args, share.line);
  int k = share.first;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i, k += share.step) {
    if (k < parts_k) parts.put(k, kept[i], scale);
  }
  if constexpr (HAS_REST) {
    Line again(lines, {share.line, share.own, k, share.step}, K);
#pragma unroll 1
    for (; k < parts_k; k += share.step) {
      again.next(x);
      parts.put(k, x, scale);
    }
  }
  return parts.lose();
}

// The same of a line that is not scaled.
template <int PARTS, class Line>
__device__ inline bool split_unscaled_line(const Lines& lines, const SplitArgs& args,
                                           const Share& share) {
  if (share.line >= lines.matrix.lines) return false;
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
  return parts.lose();
}

// Whether the thread's share of a line along K loses numbers.
template <int PARTS>
__device__ inline bool split_along_k(const Lines& lines, const SplitArgs& args,
                                     const Share& share) {
  constexpr int kBarrier = 1;
  if constexpr (!is_scaled(PARTS)) return split_unscaled_line<PARTS, AlongK>(lines, args, share);
  return split_line<PARTS, AlongK, true>(lines, args, share, [&](float value) {
    const int thread = static_cast<int>(threadIdx.x), team = team_of(args.K);
    value = largest_of_lanes(value, 1);
    if (team == 32) return value;
    const int warps = team / 32;
    float* const of_warps = reinterpret_cast<float*>(shared_memory());
    if (thread % 32 == 0) of_warps[thread / 32] = value;
    meet(kBarrier + share.own, team);
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[share.own * warps + warp]);
    }
    return value;
  });
}

// The same of a line across the rows. A CTA keeps short ones.
template <int PARTS, bool HAS_REST>
__device__ inline bool split_strip(const Lines& lines, const SplitArgs& args, const Share& share) {
  const int thread = static_cast<int>(threadIdx.x);
  const int warps = static_cast<int>(blockDim.x) / 32;
  return split_line<PARTS, AcrossRows, HAS_REST>(lines, args, share, [&](float value) {
    float* const of_warps = reinterpret_cast<float*>(shared_memory());
    value = largest_of_lanes(value, kStrip);
    if (thread % 32 < kStrip) of_warps[thread / 32 * kStrip + share.own] = value;
    __syncthreads();
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[warp * kStrip + share.own]);
    }
    return value;
  });
}

// The thread's line loses numbers. Not inlined, so that what this asks for takes no registers from
// the code before it.
template <bool OF_B, bool ALONG_K>
__device__ __noinline__ void tell_of_thread(const SplitArgs& args) {
  const CtaShare cta = share_of_cta<OF_B, false>(args);
  const Share share = share_of_thread<ALONG_K>(args, cta.share);
  tell_losing(lines_of<OF_B>(args, cta.batch), args, share.line);
}

// The same of a line of the CTA's wide strip.
template <bool OF_B>
__device__ __noinline__ void tell_of_strip(const SplitArgs& args, int line) {
  const CtaShare cta = share_of_cta<OF_B, true>(args);
  tell_losing(lines_of<OF_B>(args, cta.batch), args, cta.share * kWideStrip + line);
}

// What the CTA's marks_of_lines() tell. Factors, of the cluster's first CTA, are stored before
// those that have something to tell go on; nobody else waits.
template <bool OF_B>
__device__ inline void tell_of_marks(const SplitArgs& args) {
  __syncthreads();  // all marks are set
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= kWideStrip || blockIdx.y != 0) {
    cluster_arrive_stored();
  } else {
    cluster_arrive();
  }
  if (thread >= kWideStrip) return;
  const bool loses = marks_of_lines()[thread] != 0;
  if (__any_sync(0xffffffffu, loses) == 0) return;
  cluster_wait();
  if (loses) tell_of_strip<OF_B>(args, thread);
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

// A CTA's share of an operand. ALONE: the other operand has one part.
template <int PARTS, bool OF_B, bool ALONE, bool ALONG_K, Across ACROSS>
__device__ inline void split_operand(const SplitArgs& args) {
  constexpr bool kIsWide = !ALONG_K && ACROSS == Across::wide_strips && PARTS > 1;
  constexpr bool kAreTold = is_scaled(PARTS) && !ALONE;
  const CtaShare cta = share_of_cta<OF_B, kIsWide>(args);
  if (cta.batch >= args.batch) return;
  if constexpr (PARTS == 1) {
    copy_rows<ALONG_K>(OF_B ? args.b : args.a, args, cta.batch, cta.share);
  } else if constexpr (kIsWide) {
    const Lines lines = lines_of<OF_B>(args, cta.batch);
    const bool lose = split_wide_strip<PARTS, kAreTold>(lines, args, cta.share);
    if constexpr (kAreTold) {
      tell_of_marks<OF_B>(args);
    } else {
      if (lose) *args.flags = 1;
    }
  } else {
    const Lines lines = lines_of<OF_B>(args, cta.batch);
    const Share share = share_of_thread<ALONG_K>(args, cta.share);
    bool lose = false;
    if constexpr (ALONG_K) {
      lose = split_along_k<PARTS>(lines, args, share);
    } else {
      lose = split_strip<PARTS, ACROSS == Across::long_strips>(lines, args, share);
    }
    if constexpr (kAreTold) {
      __syncthreads();  // the line's factor is stored
      if (lose) tell_of_thread<OF_B, ALONG_K>(args);
    } else {
      if (lose) *args.flags = 1;
    }
  }
}

// All of a CTA's.
template <int PARTS_A, int PARTS_B, bool A_ALONG_K, bool B_ALONG_K, Across ACROSS>
__device__ inline void split_operands(const SplitArgs& args) {
  if (static_cast<int>(blockIdx.x) < args.units_a) {
    split_operand<PARTS_A, false, PARTS_B == 1, A_ALONG_K, ACROSS>(args);
  } else {
    split_operand<PARTS_B, true, PARTS_A == 1, B_ALONG_K, ACROSS>(args);
  }
}

}  // namespace gemm_tune::parts
