// SPDX-License-Identifier: Apache-2.0
// The parts of a line (split.cuh), and what its threads agree on before: the largest magnitude.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/device/parts/args.cuh"
#include "kernel_templates/device/parts/split_shape.cuh"

namespace gemm_tune::parts {

constexpr int kPairs = kChunk / 2;

struct alignas(16) PartChunk {
  unsigned pairs[kPairs];  // of elements of 16 bits
};

// Of one instruction, which the compiler would part where registers are short.
__device__ inline void store_chunk(Bits16* to, const PartChunk& chunk) {
#ifdef GT_EMULATOR
  *reinterpret_cast<PartChunk*>(to) = chunk;
#else
  const auto& pairs = chunk.pairs;
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(pairs[0]), "r"(pairs[1]),
               "r"(pairs[2]), "r"(pairs[3])
               : "memory");
#endif
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

// What such a line's numbers are multiplied by. An infinite line has no numbers.
__device__ inline float scale_of(float largest, int exponent) {
  return isinf(largest) ? largest - largest : ldexpf(1.0f, exponent);
}

// Exact; the compiler's division takes a call. power: 2^-126 to 2^126, or NaN, which gives
// anything.
__device__ inline float inverse_power_of_two(float power) {
  constexpr unsigned kOneTwice = 254u << 23;  // the exponent's bits of 1, twice
  return __uint_as_float(kOneTwice - __float_as_uint(power));
}

// One matrix of the batch, and its place among the lines of all.
struct Lines {
  const SplitMatrix& matrix;
  const float* from;
  long long first;  // lines of earlier matrices of the operand
  float* factors;
  int* losing;  // how many of the operand's lose numbers
};

template <bool OF_B>
__device__ inline Lines lines_of(const SplitArgs& args, int batch) {
  const SplitMatrix& matrix = OF_B ? args.b : args.a;
  const long long first = 1LL * batch * matrix.lines;
  float* const factors =
      reinterpret_cast<float*>(reinterpret_cast<char*>(matrix.to) + matrix.factors_at);
  return {matrix, matrix.from + batch * matrix.stride, first, factors + first,
          args.flags + (OF_B ? 3 : 2)};
}

__device__ inline float largest_of_lanes(float value, int least_distance) {
  for (int lanes = 16; lanes >= least_distance; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  return value;
}

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

__device__ inline float2 minus(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }

// The parts of a line, or of several in turn.
template <int PARTS>
class LineParts {
 public:
  __device__ LineParts(const Lines& lines, const SplitArgs& args, int line)
      : high_(lines.matrix.to + (PARTS * lines.first + line) * args.parts_k),
        to_next_(1LL * lines.matrix.lines * args.parts_k) {}

  // Splits elements k to k + 7.
  __device__ void put(int k, const float (&x)[kChunk], [[maybe_unused]] float scale) {
    PartChunk high, low;
    [[maybe_unused]] PartChunk middle;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float2 pair = {x[2 * i], x[2 * i + 1]};
      if constexpr (is_scaled(PARTS)) {
        split_in_two(pair, scale, high.pairs[i], low.pairs[i]);
      } else {
        split_in_three(pair, high.pairs[i], middle.pairs[i], low.pairs[i]);
      }
    }
    Bits16* to = high_ + k;
    store_chunk(to, high);
    if constexpr (!is_scaled(PARTS)) store_chunk(to += to_next_, middle);
    store_chunk(to + to_next_, low);
  }

  // Goes on to a later line.
  __device__ void pass_by(int lines, int parts_k) {
    high_ += 1LL * lines * parts_k;
    lose_ = false;
  }

  // Whether any of the line lost more than they may.
  __device__ bool lose() const { return lose_; }

 private:
  __device__ void split_in_two(float2 x, float scale, unsigned& high, unsigned& low) {
    const float2 scaled = {x.x * scale, x.y * scale};
    high = pair_from_floats<kTypeF16>(scaled);
    const float2 kept = pair_to_floats<kTypeF16>(high);
    const float2 rest = {(scaled.x - kept.x) * kLowScale, (scaled.y - kept.y) * kLowScale};
    low = pair_from_floats<kTypeF16>(rest);
    const float factor = inverse_power_of_two(scale);
    lose_ |= loses(x.x, scaled.x, kept.x * factor) | loses(x.y, scaled.y, kept.y * factor);
  }

  // kept: what the high part counts, exact where it is looked at. Comparisons with a NaN find a
  // loss.
  __device__ static bool loses(float x, float scaled, float kept) {
    return !(fabsf(scaled) >= kLeastScaled) && kept != x;
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

  Bits16* high_;
  const long long to_next_;
  bool lose_ = false;
};

// Of threads that have found a line to lose numbers, behind what has stored its factor. The sign of
// the factor tells who is the first.
__device__ inline void tell_losing(const Lines& lines, const SplitArgs& args, int line) {
  constexpr unsigned kSign = 1u << 31;
  *args.flags = 1;
  if ((atomicOr(reinterpret_cast<unsigned*>(lines.factors + line), kSign) & kSign) != 0) return;
  const long long all = 1LL * args.batch * lines.matrix.lines;
  int* const list = reinterpret_cast<int*>(lines.factors - lines.first + all);
  const int before = atomicAdd(lines.losing, 1);
  if (before < most_losing(all)) list[before] = static_cast<int>(lines.first) + line;
}

}  // namespace gemm_tune::parts
