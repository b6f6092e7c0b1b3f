// SPDX-License-Identifier: Apache-2.0
// The elements of D on lines that lose numbers, where few lines do: sums in fp32, dealt out over
// all warps of the launch.
//
// A warp computes a few elements of a line at once, next to one another. Where the lines that it
// meets lie along K, lanes share K by 4 numbers each; where they lie across, 8 lanes have an
// element each and 4 of them share K. The sums of lanes meet in a fixed order.
//
// Hardly any call comes here: the code is short, for it shares its cache with the main loop.
#pragma once

#include "kernel_templates/device/parts/output.cuh"

namespace gemm_tune::parts {

// The sum of lanes that differ in bits from least_distance on.
__device__ inline float sum_of_lanes(float value, int least_distance) {
#pragma unroll
  for (int lanes = 16; lanes >= least_distance; lanes /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, lanes);
  }
  return value;
}

// Numbers of a line, by their k. ALONG_K: neighbours in memory.
template <bool ALONG_K>
struct NumbersOfLine {
  const float* first;
  long long ld;
  int K;

  // `line` of a matrix.
  __device__ NumbersOfLine(const float* matrix, long long ld, int line, int K)
      : first(matrix + (ALONG_K ? 1LL * line * ld : line)), ld(ld), K(K) {}

  // 0 behind the last one.
  __device__ float at(int k) const { return k < K ? first[ALONG_K ? k : 1LL * k * ld] : 0.0f; }

  // COUNT from k on, a multiple of 4.
  template <int COUNT>
  __device__ void load(float (&x)[COUNT], int k) const {
    if (ALONG_K && k + COUNT <= K && reinterpret_cast<unsigned long long>(first) % 16 == 0) {
#pragma unroll
      for (int i = 0; i < COUNT; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(first + k + i);
        x[i] = four.x;
        x[i + 1] = four.y;
        x[i + 2] = four.z;
        x[i + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) x[i] = at(k + i);
    }
  }
};

// An operand.
template <bool ALONG_K>
struct WholeOperand {
  const float* from;
  long long ld, stride;
  const OperandCopy& copy;
  int lines, matrices;

  // `line` of a matrix of the batch; behind the last one another, of which nobody stores a sum.
  __device__ NumbersOfLine<ALONG_K> line(int batch, int line, int K) const {
    return {from + batch * stride, ld, line < lines ? line : 0, K};
  }

  // The i-th that loses numbers, of all matrices.
  __device__ int losing(int i) const {
    const int* const told = reinterpret_cast<const int*>(copy.at + copy.factors_at);
    return told[1LL * matrices * lines + i];
  }
};

// Of one warp of so many. OF_ROWS: elements on rows that lose numbers, else on columns that do.
template <bool OF_ROWS, bool ALONG_K, bool OTHERS_ALONG_K>
class LosingElements {
 public:
  __device__ LosingElements(const Args& args, const WholeOperand<ALONG_K>& operand,
                            const WholeOperand<OTHERS_ALONG_K>& others)
      : args_(args),
        operand_(operand),
        others_(others),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  // Those of `count` lines. next: the first share that is this warp's; becomes that of what comes
  // behind these lines.
  __device__ void store(int count, int& next, int warps) const {
    const int shares = (others_.lines - 1) / kAtOnce + 1;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int line = operand_.losing(i);
#pragma unroll 1
      for (; next < shares; next += warps) {
        store_some(line / operand_.lines, line % operand_.lines, next * kAtOnce);
      }
      next -= shares;
    }
  }

 private:
  static constexpr int kAtOnce = OTHERS_ALONG_K ? 4 : 8;  // elements
  // Numbers of a lane that are loaded at once: where it shares K with all others, and where with
  // few. With 8 and 24 the product takes more registers than its main loop, and begins later beside
  // the split.
  static constexpr int kEach = 4, kAhead = 16;
  static constexpr int kLanesOfK = 32 / kAtOnce;  // lanes that share K, where they are few

  __device__ void store_some(int batch, int line, int first) const {
    const NumbersOfLine<ALONG_K> own = operand_.line(batch, line, args_.K);
    if constexpr (OTHERS_ALONG_K) {
      float sum = 0;
      const float4 sums = of_lines_along_k(own, batch, first);
      if (lane_ % 4 == 0) sum = sums.x;
      if (lane_ % 4 == 1) sum = sums.y;
      if (lane_ % 4 == 2) sum = sums.z;
      if (lane_ % 4 == 3) sum = sums.w;
      store_one(sum, batch, line, first + lane_ % 4);
    } else {
      store_one(of_lines_across(own, batch, first + lane_ % kAtOnce), batch, line,
                first + lane_ % kAtOnce);
    }
  }

  __device__ float4 of_lines_along_k(const NumbersOfLine<ALONG_K>& own, int batch,
                                     int first) const {
    const NumbersOfLine<true> others[4] = {
        others_.line(batch, first, args_.K), others_.line(batch, first + 1, args_.K),
        others_.line(batch, first + 2, args_.K), others_.line(batch, first + 3, args_.K)};
    float sums[4] = {};
#pragma unroll 1
    for (int first_k = 0; first_k < args_.K; first_k += 32 * kEach) {
      const int k = first_k + lane_ * kEach;
      float x[kEach], y[4][kEach];
      own.load(x, k);
#pragma unroll
      for (int j = 0; j < 4; ++j) others[j].load(y[j], k);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < kEach; ++i) sums[j] += x[i] * y[j][i];
      }
    }
#pragma unroll
    for (float& sum : sums) sum = sum_of_lanes(sum, 1);
    return {sums[0], sums[1], sums[2], sums[3]};
  }

  __device__ float of_lines_across(const NumbersOfLine<ALONG_K>& own, int batch, int line) const {
    const NumbersOfLine<OTHERS_ALONG_K> other = others_.line(batch, line, args_.K);
    float sum = 0;
#pragma unroll 1
    for (int first_k = 0; first_k < args_.K; first_k += kLanesOfK * kAhead) {
      const int k = first_k + lane_ / kAtOnce;
      float x[kAhead], y[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        x[i] = own.at(k + i * kLanesOfK);
        y[i] = other.at(k + i * kLanesOfK);
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) sum += x[i] * y[i];
    }
    return sum_of_lanes(sum, kAtOnce);
  }

  // By one of the lanes that have the sum.
  __device__ void store_one(float sum, int batch, int line, int other) const {
    if (lane_ >= kAtOnce || other >= others_.lines) return;
    const Output output(args_, batch);
    if constexpr (OF_ROWS) {
      output.store(sum, line, other);
    } else {
      if (!output.loses_row(other)) output.store(sum, other, line);
    }
  }

  const Args& args_;
  const WholeOperand<ALONG_K>& operand_;
  const WholeOperand<OTHERS_ALONG_K>& others_;
  const int lane_;
};

// All of them, by all warps of the launch. warp: of the CTA's.
template <bool A_ALONG_K, bool B_ALONG_K>
__device__ inline void store_losing(const Args& args, Losing losing, int warp) {
  const int matrices = args.tiles.matrices, ctas = static_cast<int>(gridDim.x);
  const WholeOperand<A_ALONG_K> a = {args.A, args.lda, args.stride_a, args.a, args.M, matrices};
  const WholeOperand<B_ALONG_K> b = {args.B, args.ldb, args.stride_b, args.b, args.N, matrices};
  int next = static_cast<int>(blockIdx.x) + ctas * warp;
  const int warps = ctas * (static_cast<int>(blockDim.x) / 32);
  LosingElements<true, A_ALONG_K, B_ALONG_K>(args, a, b).store(losing.rows(), next, warps);
  LosingElements<false, B_ALONG_K, A_ALONG_K>(args, b, a).store(losing.cols(), next, warps);
}

}  // namespace gemm_tune::parts
