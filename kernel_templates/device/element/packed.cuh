// SPDX-License-Identifier: Apache-2.0
// Neighbours of a stored row as one global access brings them, of f32, f16 or bf16, and what they
// are worth in fp32, exactly.
//
// Elements of 16 bits stay in pairs, as they lie, until they are asked for: loads that are under
// way from one pass of a loop to the next take a register for two elements, and nobody waits for
// them to take pairs apart.
#pragma once

#include "kernel_templates/device/element/element_convert.cuh"
#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/device/element/vec.cuh"

namespace gemm_tune {

// What a matrix of the type consists of.
template <int TYPE>
using Stored = typename Select<TYPE == kTypeF32, float, Bits16>::Type;

// Of a kernel's argument.
template <int TYPE>
__device__ inline const Stored<TYPE>* stored(const float* matrix) {
  return reinterpret_cast<const Stored<TYPE>*>(matrix);
}

// Elements of 16 bits.
template <int TYPE, int VEC>
struct alignas(VEC * sizeof(Bits16)) Pairs {
  typename Select<VEC == 1, Bits16, unsigned>::Type pairs[(VEC + 1) / 2];
};

template <int TYPE, int VEC>
using Packed = typename Select<TYPE == kTypeF32, Vec<VEC>, Pairs<TYPE, VEC>>::Type;

template <int VEC>
__device__ inline float value_of(const Vec<VEC>& packed, int i) {
  return packed.x[i];
}
template <int TYPE, int VEC>
__device__ inline float value_of(const Pairs<TYPE, VEC>& packed, int i) {
  const float2 pair = pair_to_floats<TYPE>(packed.pairs[i / 2]);
  return i % 2 == 0 ? pair.x : pair.y;
}

template <int VEC>
__device__ inline const Vec<VEC>& widened(const Vec<VEC>& packed) {
  return packed;
}
template <int TYPE, int VEC>
__device__ inline Vec<VEC> widened(const Pairs<TYPE, VEC>& packed) {
  Vec<VEC> values;
#pragma unroll
  for (int i = 0; i < VEC; ++i) values.x[i] = value_of(packed, i);
  return values;
}

// One access; p must be aligned to it.
template <int TYPE, int VEC>
__device__ inline Packed<TYPE, VEC> load_packed(const Stored<TYPE>* p) {
  if constexpr (TYPE == kTypeF32) {
    return load_vec<VEC>(p);
  } else {
    return *reinterpret_cast<const Packed<TYPE, VEC>*>(p);
  }
}

// As stream_vec().
template <int TYPE, int VEC>
__device__ inline Packed<TYPE, VEC> stream_packed(const Stored<TYPE>* p) {
  if constexpr (TYPE == kTypeF32) {
    return stream_vec<VEC>(p);
  } else if constexpr (VEC == 4) {
    const uint2 pairs = __ldcs(reinterpret_cast<const uint2*>(p));
    return {{pairs.x, pairs.y}};
  } else if constexpr (VEC == 2) {
    return {{__ldcs(reinterpret_cast<const unsigned*>(p))}};
  } else {
    return {{__ldcs(p)}};
  }
}

// As load_vec_edge().
template <int TYPE, int VEC>
__device__ inline Packed<TYPE, VEC> load_packed_edge(const Stored<TYPE>* p, int left) {
  if constexpr (TYPE == kTypeF32) {
    return load_vec_edge<VEC>(p, left);
  } else {
    if (in_bounds(VEC - 1, left)) return load_packed<TYPE, VEC>(p);
    Packed<TYPE, VEC> packed;
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const unsigned bits = in_bounds(i, left) ? p[i] : 0u;
      if (i % 2 == 0) {
        packed.pairs[i / 2] = bits;
      } else {
        packed.pairs[i / 2] |= bits << 16;
      }
    }
    return packed;
  }
}

// As stream_vec_edge().
template <int TYPE, int VEC>
__device__ inline Packed<TYPE, VEC> stream_packed_edge(const Stored<TYPE>* p, int left) {
  if constexpr (TYPE == kTypeF32) {
    return stream_vec_edge<VEC>(p, left);
  } else {
    return in_bounds(VEC - 1, left) ? stream_packed<TYPE, VEC>(p)
                                    : load_packed_edge<TYPE, VEC>(p, left);
  }
}

}  // namespace gemm_tune
