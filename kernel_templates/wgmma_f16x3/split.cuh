// SPDX-License-Identifier: Apache-2.0
// The kernel before the product: splits each element x of A and B into two f16 parts, so that
// x = factor (high + low / 2^11) but for what lies below the low part.
//
// The factor is a power of two, one for each line: a row of A or a column of B. Lines of parts lie
// along K, padded by zeros to whole stages, whatever the operands' layouts. What of a line does not
// fit the registers is read twice, for its largest magnitude and for its parts; CTAs take few
// lines, so that a cache has them then. What does not keep kMostLost sets a flag: numbers far below
// the largest one of their line, infinities and NaN.
#pragma once

#include "kernel_templates/device/element_convert.cuh"
#include "kernel_templates/wgmma_f16x3/config.cuh"

namespace gemm_tune::wgmma_f16x3 {

struct alignas(16) PartChunk {
  Bits16 x[kChunk];
};

__device__ inline float largest_of_warp(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  return value;
}

// Of a team, one value a warp.
__device__ inline float largest_of_team(float value, int thread) {
  constexpr int kWarps = kTeam / 32, kBarrier = 1;
  const int team = thread / kTeam;
  float* const of_warps = reinterpret_cast<float*>(wgmma::shared_memory()) + team * kWarps;
  if (thread % 32 == 0) of_warps[thread % kTeam / 32] = value;
  wgmma::meet(kBarrier + team, kTeam);
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) value = fmaxf(value, of_warps[warp]);
  return value;
}

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

// Elements k to k + 7 of a line that lies along K, zeros behind its end.
__device__ inline void load_chunk(float (&x)[kChunk], const float* line, int k, int K) {
  const bool is_aligned = reinterpret_cast<unsigned long long>(line) % 16 == 0;
  if (is_aligned && k + kChunk <= K) {
#pragma unroll
    for (int i = 0; i < kChunk; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(line + k + i);
      x[i] = four.x;
      x[i + 1] = four.y;
      x[i + 2] = four.z;
      x[i + 3] = four.w;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) x[i] = k + i < K ? line[k + i] : 0.0f;
}

// Lines along K: each by a warp, or by a team of warps.
__device__ inline void split_along_k(const Lines& lines, const SplitArgs& args, int cta) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool is_short = args.K <= kShortK;
  const int team = is_short ? 32 : kTeam;
  const int line = cta * (kSplitThreads / team) + thread / team;
  if (line >= lines.matrix.lines) return;  // whole teams
  const int first = thread % team * kChunk, step = team * kChunk;
  const float* const from = lines.from + line * lines.matrix.ld;
  float kept[kKeptChunks][kChunk], x[kChunk];
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) load_chunk(kept[i], from, first + i * step, args.K);
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) largest = larger_of_chunk(largest, kept[i]);
  for (int k = first + kKeptChunks * step; k < args.K; k += step) {
    load_chunk(x, from, k, args.K);
    largest = larger_of_chunk(largest, x);
  }
  largest = largest_of_warp(largest);
  if (!is_short) largest = largest_of_team(largest, thread);
  LineParts parts(lines, args);
  if (first == 0) parts.set_factor(line, largest);
  const float scale = ldexpf(1.0f, scale_exponent(largest));
#pragma unroll
  for (int i = 0; i < kKeptChunks; ++i) {
    const int k = first + i * step;
    if (k < args.parts_k) parts.put(line, k, kept[i], scale);
  }
  for (int k = first + kKeptChunks * step; k < args.parts_k; k += step) {
    load_chunk(x, from, k, args.K);
    parts.put(line, k, x, scale);
  }
  parts.raise_flag();
}

// Lines across the rows of a matrix: blocks of K pass through shared memory, where threads that
// loaded along the rows find chunks along K. The last block is split first: it was read last.
__device__ inline void split_across(const Lines& lines, const SplitArgs& args, int cta) {
  float* const block = reinterpret_cast<float*>(wgmma::shared_memory());
  float* const of_warps = block + kStripDepth * kStripPitch;
  float* const scales = of_warps + kSplitWarps * kStrip;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const bool exists = cta * kStrip + lane < lines.matrix.lines;
  const long long ld = lines.matrix.ld;
  const float* const from = lines.from + cta * kStrip + lane;
  float largest = 0;
#pragma unroll 16
  for (int k = warp; k < args.K; k += kSplitWarps) {
    if (exists) largest = fmaxf(largest, fabsf(from[k * ld]));
  }
  of_warps[warp * kStrip + lane] = largest;
  __syncthreads();
  LineParts parts(lines, args);
  if (warp == 0) {
#pragma unroll
    for (int other = 1; other < kSplitWarps; ++other) {
      largest = fmaxf(largest, of_warps[other * kStrip + lane]);
    }
    scales[lane] = ldexpf(1.0f, scale_exponent(largest));
    if (exists) parts.set_factor(cta * kStrip + lane, largest);
  }
  constexpr int kStageChunks = kBK / kChunk;  // of 128 bytes of parts, which a few lanes store
  const int own = thread / kStageChunks % kStrip, line = cta * kStrip + own;
  const int in_block =
      (thread / (kStageChunks * kStrip) * kStageChunks + thread % kStageChunks) * kChunk;
  for (int begin = (args.parts_k - 1) / kStripDepth * kStripDepth; begin >= 0;
       begin -= kStripDepth) {
#pragma unroll
    for (int i = warp; i < kStripDepth; i += kSplitWarps) {
      const int k = begin + i;
      block[i * kStripPitch + lane] = exists && k < args.K ? from[k * ld] : 0.0f;
    }
    __syncthreads();
    if (line < lines.matrix.lines && begin + in_block < args.parts_k) {
      float x[kChunk];
#pragma unroll
      for (int i = 0; i < kChunk; ++i) x[i] = block[(in_block + i) * kStripPitch + own];
      parts.put(line, begin + in_block, x, scales[own]);
    }
    __syncthreads();
  }
  parts.raise_flag();
}

// cta: of the operand's.
template <bool ALONG_K>
__device__ inline void split_matrix(const SplitMatrix& matrix, const SplitArgs& args,
                                    float* factors, int cta) {
  const int batch = cta / matrix.ctas, in_matrix = cta % matrix.ctas;
  const long long first = 1LL * batch * matrix.lines;
  const Lines lines = {matrix, matrix.from + batch * matrix.stride, first, factors + first};
  if constexpr (ALONG_K) {
    split_along_k(lines, args, in_matrix);
  } else {
    split_across(lines, args, in_matrix);
  }
}

extern "C" __global__ void __launch_bounds__(kSplitThreads, 2)
    split(const __grid_constant__ SplitArgs args) {
  wgmma::allow_next_launch();
  wgmma::await_earlier_launch();
  const int cta = static_cast<int>(blockIdx.x);
  if (cta < args.ctas_a) {
    split_matrix<kP.TA == 0>(args.a, args, args.factors, cta);
  } else {
    const long long of_a = 1LL * args.ctas_a / args.a.ctas * args.a.lines;
    split_matrix<kP.TB != 0>(args.b, args, args.factors + of_a, cta - args.ctas_a);
  }
}

}  // namespace gemm_tune::wgmma_f16x3
