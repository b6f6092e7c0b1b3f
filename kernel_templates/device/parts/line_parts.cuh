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

// One matrix of the batch, and its place among the lines of all.
struct Lines {
  const SplitMatrix& matrix;
  const float* from;
  long long first;  // lines of earlier matrices of the operand
  float* factors;
};

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

// The parts of a line, or of several in turn. ALONE: the other operand has one part, of which
// nobody asks whether it is infinite: the products by high parts tell, as long as only those of 0
// are 0.
template <int PARTS, bool ALONE = false>
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
  __device__ void pass_by(int lines, int parts_k) { high_ += 1LL * lines * parts_k; }

  // Whether any lost more than they may.
  __device__ bool lose() const { return lose_; }

 private:
  __device__ void split_in_two(float2 x, float scale, unsigned& high, unsigned& low) {
    const float2 scaled = {x.x * scale, x.y * scale};
    high = pair_from_floats<kTypeF16>(scaled);
    const float2 kept = pair_to_floats<kTypeF16>(high);
    const float2 rest = {(scaled.x - kept.x) * kLowScale, (scaled.y - kept.y) * kLowScale};
    low = pair_from_floats<kTypeF16>(rest);
    const float2 kept_rest = pair_to_floats<kTypeF16>(low);
    const float2 least = ALONE ? kept : scaled;
    lose_ |= loses(x.x, scaled.x, least.x, rest.x - kept_rest.x) |
             loses(x.y, scaled.y, least.y, rest.y - kept_rest.y);
  }

  // least: 0 only where x is; lost: what both parts leave out, times kLowScale.
  __device__ static bool loses(float x, float scaled, float least, float lost) {
    const bool keeps = fabsf(lost) <= fabsf(scaled) * (kMostLost * kLowScale);
    return !keeps || (least == 0.0f && x != 0.0f);
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

}  // namespace gemm_tune::parts
