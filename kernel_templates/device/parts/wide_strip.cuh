// SPDX-License-Identifier: Apache-2.0
// Lines across the rows of an operand, 32 at a time: 128 bytes of each row, a whole line of the L2.
//
// K is dealt out over the CTAs along the grid's y. A thread has 8 k of 4 lines: a warp loads 4 rows
// at once, and stores 64 bytes along K of 8 lines. Where lines are scaled these CTAs are a cluster,
// whose largest magnitudes meet in shared memory. What of a line is longer than the cluster's
// registers is read twice.
#pragma once

#include "kernel_templates/device/parts/line_parts.cuh"
#include "kernel_templates/device/sum/cluster.cuh"
#include "kernel_templates/device/tile/smem.cuh"

namespace gemm_tune::parts {

// Of a thread: lines by k.
using LinesOfThread = float[kLinesOfThread][kChunk];

// Four numbers of a row, at an address aligned to 16 bytes. Zeros where they do not exist.
__device__ inline float4 load_four(const float* from, bool exists) {
#ifdef GT_EMULATOR
  return exists ? *reinterpret_cast<const float4*>(from) : float4{0, 0, 0, 0};
#else
  float4 x;
  asm volatile(
      "{ .reg .pred exists; setp.ne.s32 exists, %5, 0; mov.f32 %0, 0f00000000;"
      " mov.f32 %1, 0f00000000; mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000;"
      " @exists ld.global.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4]; }"
      : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
      : "l"(from), "r"(static_cast<int>(exists)));
  return x;
#endif
}

// A thread's lines. WHOLE: all lines of the strip exist, and its rows are aligned to 16 bytes. No
// branch parts the loads, so that all are under way at once.
template <bool WHOLE>
class RowsOfStrip {
 public:
  static constexpr int kBetween = WHOLE ? 1 : kLanesAcross;  // the thread's lines

  __device__ RowsOfStrip(const Lines& lines, const SplitArgs& args, int strip)
      : place_(static_cast<int>(threadIdx.x) % kLanesAcross * (WHOLE ? kLinesOfThread : 1)),
        strip_(strip * kWideStrip),
        lines_(lines.matrix.lines),
        K_(args.K),
        ld_(lines.matrix.ld),
        from_(lines.from + strip_ + place_) {}

  // The thread's i-th line in the strip, and in the matrix.
  __device__ int place(int i) const { return place_ + i * kBetween; }
  __device__ int line(int i) const { return strip_ + place(i); }
  __device__ bool exists(int i) const { return line(i) < lines_; }

  // Zeros behind K.
  __device__ void load(int k, LinesOfThread& x) const {
    const float* from = from_ + k * ld_;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const bool is_inside = k + i < K_;
      if constexpr (WHOLE) {
        const float4 four = load_four(from, is_inside);
        x[0][i] = four.x;
        x[1][i] = four.y;
        x[2][i] = four.z;
        x[3][i] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < kLinesOfThread; ++j) {
          x[j][i] = load_sector(from + j * kBetween, is_inside && exists(j));
        }
      }
      from += ld_;
    }
  }

 private:
  static_assert(kLinesOfThread == 4 && kWideStrip == kLinesOfThread * kLanesAcross);

  const int place_, strip_;
  const int lines_;
  const int K_;
  const long long ld_;
  const float* const from_;
};

__device__ inline void take_larger(float (&largest)[kLinesOfThread], const LinesOfThread& x) {
#pragma unroll
  for (int i = 0; i < kLinesOfThread; ++i) largest[i] = larger_of_chunk(largest[i], x[i]);
}

// Of the CTA in shared memory, behind largest magnitudes and scales: which lines of the strip lose
// numbers.
__device__ inline int* marks_of_lines() {
  return reinterpret_cast<int*>(shared_memory()) + (kMostSplitThreads / 32 + 2) * kWideStrip;
}

// The lines' scales, from the largest magnitudes that this thread has seen; the cluster's first CTA
// stores the factors, and marks_of_lines() are 0. All threads of the cluster's CTAs arrive at its
// barrier once more, and wait for one another before they end.
template <class Rows>
__device__ inline void scale_of_lines(const Lines& lines, const Rows& rows, int strip,
                                      float (&largest)[kLinesOfThread],
                                      float (&scale)[kLinesOfThread]) {
  float* const of_warps = reinterpret_cast<float*>(shared_memory());
  float* const of_cta = of_warps + kMostSplitThreads / 32 * kWideStrip;
  float* const scales = of_cta + kWideStrip;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
#pragma unroll
  for (int i = 0; i < kLinesOfThread; ++i) {
    const float of_warp = largest_of_lanes(largest[i], kLanesAcross);
    if (lane < kLanesAcross) of_warps[thread / 32 * kWideStrip + rows.place(i)] = of_warp;
  }
  __syncthreads();
  if (thread < kWideStrip) {
    float value = 0;
    const int warps = static_cast<int>(blockDim.x) / 32;
    for (int warp = 0; warp < warps; ++warp) {
      value = fmaxf(value, of_warps[warp * kWideStrip + lane]);
    }
    of_cta[lane] = value;
    marks_of_lines()[lane] = 0;
  }
  cluster_arrive_stored();
  cluster_wait();
  int exponent = 0;
  if (thread < kWideStrip) {
    float value = 0;
#pragma unroll
    for (int cta = 0; cta < kSplitCluster; ++cta) {
      value = fmaxf(value, PeerSmem(of_cta, cta).load(lane));
    }
    exponent = scale_exponent(value);
    scales[lane] = scale_of(value, exponent);
  }
  cluster_arrive_stored();  // what came from the others is stored, too
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kLinesOfThread; ++i) scale[i] = scales[rows.place(i)];
  const int line = strip * kWideStrip + thread;
  if (blockIdx.y == 0 && thread < kWideStrip && line < lines.matrix.lines) {
    lines.factors[line] = ldexpf(1.0f, -exponent);
  }
}

// Whether numbers are lost. A round: what the CTAs keep at once. Rounds behind the first one are
// read twice where lines are scaled, the latest of them first.
template <int PARTS, bool MARKS, bool WHOLE>
__device__ inline bool split_rows(const Lines& lines, const SplitArgs& args, int strip) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int first = static_cast<int>(blockIdx.y) * threads + thread / kLanesAcross * kChunk;
  const int step = static_cast<int>(gridDim.y) * threads;
  const int rounds = (args.parts_k + step - 1) / step;
  const RowsOfStrip<WHOLE> rows(lines, args, strip);
  LinesOfThread x;
  float scale[kLinesOfThread] = {1, 1, 1, 1};
  if constexpr (is_scaled(PARTS)) {
    float largest[kLinesOfThread] = {};
#pragma unroll 1
    for (int round = rounds - 1; round >= 0; --round) {
      rows.load(first + round * step, x);
      take_larger(largest, x);
    }
    scale_of_lines(lines, rows, strip, largest, scale);
  } else {
    const int line = strip * kWideStrip + thread;
    if (blockIdx.y == 0 && thread < kWideStrip && line < lines.matrix.lines) {
      lines.factors[line] = 1;
    }
  }
  bool lose = false;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int k = first + round * step;
    if (!is_scaled(PARTS)) rows.load(k, x);
    if (k >= args.parts_k) break;
    LineParts<PARTS> parts(lines, args, rows.line(0));
#pragma unroll
    for (int i = 0; i < kLinesOfThread; ++i) {
      // A branch also where all exist: it keeps the compiler from computing all lines' parts at
      // once, which takes more registers than there are.
      if (rows.exists(i)) parts.put(k, x[i], scale[i]);
      if (MARKS && parts.lose()) marks_of_lines()[rows.place(i)] = 1;
      lose |= !MARKS && parts.lose();
      parts.pass_by(RowsOfStrip<WHOLE>::kBetween, args.parts_k);
    }
    if (is_scaled(PARTS)) rows.load(k + step, x);  // behind the last round zeros
  }
  if constexpr (is_scaled(PARTS)) cluster_wait();
  return lose;
}

// Whether the thread's lines lose numbers; MARKS: these have marks_of_lines() instead.
template <int PARTS, bool MARKS>
__device__ inline bool split_wide_strip(const Lines& lines, const SplitArgs& args, int strip) {
  const bool is_aligned =
      reinterpret_cast<unsigned long long>(lines.from) % 16 == 0 && lines.matrix.ld % 4 == 0;
  if (is_aligned && (strip + 1) * kWideStrip <= lines.matrix.lines) {
    return split_rows<PARTS, MARKS, true>(lines, args, strip);
  }
  return split_rows<PARTS, MARKS, false>(lines, args, strip);
}

}  // namespace gemm_tune::parts
