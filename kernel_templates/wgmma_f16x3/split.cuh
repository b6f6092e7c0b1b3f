// SPDX-License-Identifier: Apache-2.0
// The kernel before the product: splits each element x of A and B into two f16 parts, so that
// x = factor (high + low / 2^11) but for what lies below the low part.
//
// The factor is a power of two, one for each line: a row of A or a column of B. Lines of parts lie
// along K, padded by zeros to whole stages, whatever the operands' layouts. What of a line fits
// neither the registers nor, of lines across the rows, the shared memory is read twice, for its
// largest magnitude and for its parts. What does not keep kMostLost sets a flag: numbers far below
// the largest one of their line, infinities and NaN.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/wgmma_f16x3/config.cuh"

namespace gemm_tune::wgmma_f16x3 {

struct alignas(16) PartChunk {
  Bits16 x[kChunk];
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

// The lines' parts.
class LineParts {
 public:
  __device__ LineParts(const Lines& lines, const SplitArgs& args) : lines_(lines), args_(args) {}

  __device__ void set_factor(int line, float largest) const {
    lines_.factors[line] = ldexpf(1.0f, -scale_exponent(largest));
  }

  // Splits elements k to k + 7 of a line.
  __device__ void put(int line, int k, const float (&x)[kChunk], float scale) {
    PartChunk high, low;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const float scaled = x[i] * scale;
      high.x[i] = element_from_float<kTypeF16>(scaled);
      const float rest = (scaled - element_to_float<kTypeF16>(high.x[i])) * kLowScale;
      low.x[i] = element_from_float<kTypeF16>(rest);
      const float lost = fabsf(rest - element_to_float<kTypeF16>(low.x[i]));
      const bool keeps = lost <= fabsf(scaled) * (kMostLost * kLowScale);
      if (!keeps || (scaled == 0.0f && x[i] != 0.0f)) loses_ = true;
    }
    const SplitMatrix& matrix = lines_.matrix;
    Bits16* const to = matrix.to + ((kParts * lines_.first + line) * args_.parts_k + k);
    *reinterpret_cast<PartChunk*>(to) = high;
    *reinterpret_cast<PartChunk*>(to + 1LL * matrix.lines * args_.parts_k) = low;
  }

  __device__ void raise_flag() const {
    if (loses_) *args_.flag = 1;
  }

 private:
  const Lines& lines_;
  const SplitArgs& args_;
  bool loses_ = false;
};

// The line of a thread and its chunks there: from element `first` on, every `step` elements.
struct Share {
  int line, first, step;
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

// Elements k to k + 7 of a line that lies along K, zeros behind its end.
class AlongK {
 public:
  static constexpr bool kIsStored = false;

  __device__ AlongK(const Lines& lines, const SplitArgs& args, const Share& share)
      : line_(lines.from + share.line * lines.matrix.ld), K_(args.K) {}

  __device__ void load(float (&x)[kChunk], int k) const {
    const bool is_aligned = reinterpret_cast<unsigned long long>(line_) % 16 == 0;
    if (is_aligned && k + kChunk <= K_) {
#pragma unroll
      for (int i = 0; i < kChunk; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(line_ + k + i);
        x[i] = four.x;
        x[i + 1] = four.y;
        x[i + 2] = four.z;
        x[i + 3] = four.w;
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) x[i] = k + i < K_ ? line_[k + i] : 0.0f;
  }

 private:
  const float* const line_;
  const int K_;
};

// A number of a row of which this CTA reads a sector, and CTAs beside it the ones beside it: the L2
// fetches them all at once.
__device__ inline float load_sector(const float* from) {
#ifdef GT_EMULATOR
  return *from;
#else
  float x;
  asm volatile("ld.global.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(x) : "l"(from));
  return x;
#endif
}

// The same of a line across the rows of a matrix. Neighbours in the warp have neighbouring lines,
// which makes the sectors whole.
class AcrossRows {
 public:
  static constexpr bool kIsStored = true;

  __device__ AcrossRows(const Lines& lines, const SplitArgs& args, const Share& share)
      : line_(lines.from + share.line), ld_(lines.matrix.ld), K_(args.K) {}

  __device__ void load(float (&x)[kChunk], int k) const {
    const float* from = line_ + k * ld_;
    if (k + kChunk <= K_) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) x[i] = load_sector(from + i * ld_);
      return;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      x[i] = k + i < K_ ? *from : 0.0f;
      from += ld_;
    }
  }

 private:
  const float* const line_;
  const long long ld_;
  const int K_;
};

// largest_of_line: what makes of its threads' largest magnitudes the line's.
template <class Line, class LargestOfLine>
__device__ inline void split_line(const Lines& lines, const SplitArgs& args, const Share& share,
                                  LargestOfLine largest_of_line) {
  const Line line(lines, args, share);
  const bool exists = share.line < lines.matrix.lines;
  const int K = exists ? args.K : 0, parts_k = exists ? args.parts_k : 0;
  float kept[kKeptChunks][kChunk] = {}, x[kChunk];
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) {
    const int k = share.first + i * share.step;
    if (k < K) line.load(kept[i], k);
  }
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) largest = larger_of_chunk(largest, kept[i]);
  const int stored = Line::kIsStored ? stored_chunks(args.K) : 0;
  const int first_stored = share.first + kKeptChunks * share.step;
  const StoredChunks chunks;
#pragma unroll 1
  for (int i = 0; i < stored; ++i) {
    const int k = first_stored + i * share.step;
    if (k >= K) break;
    line.load(x, k);
    chunks.put(i, x);
    largest = larger_of_chunk(largest, x);
  }
  const int rest = first_stored + stored * share.step;
#pragma unroll 1
  for (int k = rest; k < K; k += share.step) {
    line.load(x, k);
    largest = larger_of_chunk(largest, x);
  }
  largest = largest_of_line(largest);
  LineParts parts(lines, args);
  if (exists && share.first == 0) parts.set_factor(share.line, largest);
  const float scale = ldexpf(1.0f, scale_exponent(largest));
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) {
    const int k = share.first + i * share.step;
    if (k < parts_k) parts.put(share.line, k, kept[i], scale);
  }
#pragma unroll 1
  for (int i = 0; i < stored; ++i) {
    const int k = first_stored + i * share.step;
    if (k >= parts_k) break;
    float from[kChunk] = {};
    if (k < K) chunks.get(i, from);
    parts.put(share.line, k, from, scale);
  }
#pragma unroll 1
  for (int k = rest; k < parts_k; k += share.step) {
    line.load(x, k);
    parts.put(share.line, k, x, scale);
  }
  parts.raise_flag();
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
  if (share.line >= lines.matrix.lines) return;  // whole teams
  split_line<AlongK>(lines, args, share, [&](float value) {
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
__device__ inline void split_across(const Lines& lines, const SplitArgs& args, int cta) {
  const int thread = static_cast<int>(threadIdx.x), own = thread % kStrip;
  const Share share = {cta * kStrip + own, thread / kStrip * kChunk, strip_step(args.K)};
  split_line<AcrossRows>(lines, args, share, [&](float value) {
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

}  // namespace gemm_tune::wgmma_f16x3
