// SPDX-License-Identifier: Apache-2.0
// The kernel before the product: splits each element x of A and B into two f16 parts, so that
// x = factor (high + low / 2^11) but for what lies below the low part, or into three bf16 parts,
// whose sum is x. The factor of the latter is 1.
//
// That of the former is a power of two, one for each line: a row of A or a column of B. Lines of
// parts lie along K, padded by zeros to whole stages, whatever the operands' layouts. What of a
// line fits neither the registers nor, of lines across the rows, the shared memory is read twice,
// for its largest magnitude and for its parts. Numbers that the parts do not hold set a flag. Of
// f16: those far below the largest one of their line, of which the parts lose more than kMostLost.
// Of bf16: some of those below 2^-110, and those that round to infinity. Of both: infinities and
// NaN.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/wgmma_parts/config.cuh"

namespace gemm_tune::wgmma_parts {

constexpr int kPairs = kChunk / 2;

struct alignas(16) PartChunk {
  unsigned pairs[kPairs];  // of elements of 16 bits
};

__device__ inline float larger_of_chunk(float value, const float (&x)[kChunk]) {
#pragma unroll
  for (int i = 0; i < kChunk; ++i) value = fmaxf(value, fabsf(x[i]));
  return value;
}

// The power of two that a line with this largest magnitude is scaled by.
__device__ inline int scale_exponent(float largest) {
  if (largest == 0.0f) return 0;
  int exponent = 0;
  if (isinf(largest)) return 0;
  frexpf(largest, &exponent);
  const int wanted = kLargestExponent + 1 - exponent;
  return wanted < kMostScale ? wanted : kMostScale;
}

// One matrix of the batch, and its place among the lines of all.
struct Lines {
  const SplitMatrix& matrix;
  const float* from;
  long long first;  // lines of earlier matrices of the operand
  float* factors;
};

// The line of a thread and its chunks there: from element `first` on, every `step` elements.
struct Share {
  int line, first, step;
};

__device__ inline float2 minus(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }

// The parts of a line.
class LineParts {
 public:
  __device__ LineParts(const Lines& lines, const SplitArgs& args, int line)
      : high_(lines.matrix.to + (kParts * lines.first + line) * args.parts_k),
        to_next_(1LL * lines.matrix.lines * args.parts_k) {}

  // Splits elements k to k + 7.
  __device__ void put(int k, const float (&x)[kChunk], [[maybe_unused]] float scale) {
    PartChunk high, low;
    [[maybe_unused]] PartChunk middle;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float2 pair = {x[2 * i], x[2 * i + 1]};
      if constexpr (is_scaled(kP)) {
        split_in_two(pair, scale, high.pairs[i], low.pairs[i]);
      } else {
        split_in_three(pair, high.pairs[i], middle.pairs[i], low.pairs[i]);
      }
    }
    Bits16* to = high_ + k;
    *reinterpret_cast<PartChunk*>(to) = high;
    if constexpr (!is_scaled(kP)) *reinterpret_cast<PartChunk*>(to += to_next_) = middle;
    *reinterpret_cast<PartChunk*>(to + to_next_) = low;
  }

  __device__ bool lose() const { return lose_; }

 private:
  __device__ void split_in_two(float2 x, float scale, unsigned& high, unsigned& low) {
    const float2 scaled = {x.x * scale, x.y * scale};
    high = pair_from_floats<kTypeF16>(scaled);
    const float2 kept = pair_to_floats<kTypeF16>(high);
    const float2 rest = {(scaled.x - kept.x) * kLowScale, (scaled.y - kept.y) * kLowScale};
    low = pair_from_floats<kTypeF16>(rest);
    const float2 kept_rest = pair_to_floats<kTypeF16>(low);
    lose_ |=
        loses(x.x, scaled.x, rest.x - kept_rest.x) | loses(x.y, scaled.y, rest.y - kept_rest.y);
  }

  // lost: what both parts leave out, times kLowScale.
  __device__ static bool loses(float x, float scaled, float lost) {
    const bool keeps = fabsf(lost) <= fabsf(scaled) * (kMostLost * kLowScale);
    return !keeps || (scaled == 0.0f && x != 0.0f);
  }

  __device__ void split_in_three(float2 x, unsigned& high, unsigned& middle, unsigned& low) {
    high = pair_from_floats<kTypeBf16>(x);
    const float2 rest = minus(x, pair_to_floats<kTypeBf16>(high));
    middle = pair_from_floats<kTypeBf16>(rest);
    const float2 last = minus(rest, pair_to_floats<kTypeBf16>(middle));
    low = pair_from_floats<kTypeBf16>(last);
    const float2 lost = minus(last, pair_to_floats<kTypeBf16>(low));
    lose_ |= !(lost.x == 0.0f) | !(lost.y == 0.0f);
  }

  Bits16* const high_;
  const long long to_next_;
  bool lose_ = false;
};

// Chunks that a thread keeps in shared memory, for itself alone.
class StoredChunks {
 public:
  __device__ StoredChunks()
      : own_(reinterpret_cast<float4*>(wgmma::shared_memory() + kLargestBytes) + threadIdx.x) {}

  __device__ void put(int chunk, const float (&x)[kChunk]) const {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      own_[(chunk * kFours + i) * kMostSplitThreads] = {x[4 * i], x[4 * i + 1], x[4 * i + 2],
                                                        x[4 * i + 3]};
    }
  }

  __device__ void get(int chunk, float (&x)[kChunk]) const {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const float4 four = own_[(chunk * kFours + i) * kMostSplitThreads];
      x[4 * i] = four.x;
      x[4 * i + 1] = four.y;
      x[4 * i + 2] = four.z;
      x[4 * i + 3] = four.w;
    }
  }

 private:
  static constexpr int kFours = kChunk / 4;

  float4* const own_;
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

// A number of a row of which this CTA reads a sector once, and CTAs beside it the ones beside it:
// the L2 fetches them all at once. 0 where it does not exist.
__device__ inline float load_sector(const float* from, bool exists) {
#ifdef GT_EMULATOR
  return exists ? *from : 0.0f;
#else
  float x;
  asm volatile(
      "{ .reg .pred exists; setp.ne.s32 exists, %2, 0; mov.f32 %0, 0f00000000;"
      " @exists ld.global.L1::no_allocate.L2::128B.f32 %0, [%1]; }"
      : "=f"(x)
      : "l"(from), "r"(static_cast<int>(exists)));
  return x;
#endif
}

// The same of a line across the rows of a matrix. Neighbours in the warp have neighbouring lines,
// which makes the sectors whole. No branch parts the loads, so that all are under way at once.
template <bool READS_ONCE>
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
      if constexpr (READS_ONCE) {
        x[i] = load_sector(from, i < left_);
      } else {
        x[i] = i < left_ ? *from : 0.0f;
      }
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

// What becomes of the chunks that registers do not hold.
enum class Rest {
  none,        // there are none
  stored,      // shared memory holds them, of long lines some, and the others are read twice
  read_twice,  // for the line's largest magnitude, and for the parts
};

// largest_of_line: what makes of its threads' largest magnitudes the line's.
template <class Line, Rest REST, class LargestOfLine>
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
  const int stored = REST == Rest::stored ? stored_chunks(args.K) : 0;
  const StoredChunks chunks;
  if constexpr (REST == Rest::stored) {
#pragma unroll 1
    for (int i = 0; i < stored; ++i) {
      line.next(x);
      chunks.put(i, x);
      largest = larger_of_chunk(largest, x);
    }
  }
  if constexpr (REST != Rest::none) {
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
  LineParts parts(lines, args, share.line);
  int k = share.first;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i, k += share.step) {
    if (k < parts_k) parts.put(k, kept[i], scale);
  }
  if constexpr (REST == Rest::stored) {
#pragma unroll 1
    for (int i = 0; i < stored && k < parts_k; ++i, k += share.step) {
      chunks.get(i, x);
      parts.put(k, x, scale);
    }
  }
  if constexpr (REST != Rest::none) {
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
template <class Line>
__device__ inline void split_unscaled_line(const Lines& lines, const SplitArgs& args,
                                           const Share& share) {
  if (share.line >= lines.matrix.lines) return;
  if (share.first == 0) lines.factors[share.line] = 1;
  Line line(lines, share, args.K);
  LineParts parts(lines, args, share.line);
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

__device__ inline float largest_of_lanes(float value, int least_distance) {
  for (int lanes = 16; lanes >= least_distance; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  return value;
}

// Lines along K: each by a warp, or by a team of warps.
__device__ inline void split_along_k(const Lines& lines, const SplitArgs& args, int cta) {
  constexpr int kBarrier = 1;
  const int thread = static_cast<int>(threadIdx.x);
  const int team = team_of(args.K);
  const Share share = {cta * split_lines(true, args.K) + thread / team, thread % team * kChunk,
                       team * kChunk};
  if constexpr (!is_scaled(kP)) return split_unscaled_line<AlongK>(lines, args, share);
  if (share.line >= lines.matrix.lines) return;  // whole teams
  split_line<AlongK, Rest::read_twice>(lines, args, share, [&](float value) {
    value = largest_of_lanes(value, 1);
    if (team == 32) return value;
    const int number = thread / team, warps = team / 32;
    float* const of_warps = reinterpret_cast<float*>(wgmma::shared_memory());
    if (thread % 32 == 0) of_warps[thread / 32] = value;
    wgmma::meet(kBarrier + number, team);
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[number * warps + warp]);
    }
    return value;
  });
}

// Lines across the rows: a few by a CTA.
__device__ inline Share share_of_strip(const SplitArgs& args, int cta) {
  const int thread = static_cast<int>(threadIdx.x);
  return {cta * kStrip + thread % kStrip, thread / kStrip * kChunk, strip_step(args.K)};
}

template <Rest REST>
__device__ inline void split_strip(const Lines& lines, const SplitArgs& args, const Share& share) {
  split_line<AcrossRows<REST != Rest::read_twice>, REST>(lines, args, share, [&](float value) {
    const int thread = static_cast<int>(threadIdx.x), own = thread % kStrip;
    float* const of_warps = reinterpret_cast<float*>(wgmma::shared_memory());
    value = largest_of_lanes(value, kStrip);
    if (thread % 32 < kStrip) of_warps[thread / 32 * kStrip + own] = value;
    __syncthreads();
    const int warps = split_threads(args.K) / 32;
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[warp * kStrip + own]);
    }
    return value;
  });
}

__device__ inline void split_across(const Lines& lines, const SplitArgs& args, int cta) {
  const Share share = share_of_strip(args, cta);
  if constexpr (!is_scaled(kP)) {
    split_unscaled_line<AcrossRows<true>>(lines, args, share);
  } else if (args.K <= kKeptChunks * strip_step(args.K)) {
    split_strip<Rest::none>(lines, args, share);
  } else {
    split_strip<kP.STORED != 0 ? Rest::stored : Rest::read_twice>(lines, args, share);
  }
}

// cta: of the operand's.
template <bool ALONG_K>
__device__ inline void split_matrix(const SplitMatrix& matrix, const SplitArgs& args, int cta) {
  const int batch = cta / matrix.ctas, in_matrix = cta % matrix.ctas;
  const long long first = 1LL * batch * matrix.lines;
  float* const factors =
      reinterpret_cast<float*>(reinterpret_cast<char*>(matrix.to) + matrix.factors_at);
  const Lines lines = {matrix, matrix.from + batch * matrix.stride, first, factors + first};
  if constexpr (ALONG_K) {
    split_along_k(lines, args, in_matrix);
  } else {
    split_across(lines, args, in_matrix);
  }
}

extern "C" __global__ void __launch_bounds__(kMostSplitThreads, kSplitCtas)
    split(const __grid_constant__ SplitArgs args) {
  wgmma::allow_next_launch();
  wgmma::await_earlier_launch();
  const int cta = static_cast<int>(blockIdx.x);
  if (cta < args.ctas_a) {
    split_matrix<kP.TA == 0>(args.a, args, cta);
  } else {
    split_matrix<kP.TB != 0>(args.b, args, cta - args.ctas_a);
  }
}

}  // namespace gemm_tune::wgmma_parts
