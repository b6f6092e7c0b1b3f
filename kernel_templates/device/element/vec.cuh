// SPDX-License-Identifier: Apache-2.0
// Global and shared memory accesses of 1, 2 or 4 floats, whole or cut off at a matrix edge.
#pragma once

namespace gemm_tune {

template <int VEC>
struct alignas(VEC * sizeof(float)) Vec {
  float x[VEC];
};

// One access of VEC floats; p must be aligned to it.
template <int VEC>
__device__ inline Vec<VEC> load_vec(const float* p) {
  return *reinterpret_cast<const Vec<VEC>*>(p);
}

// The same for data that is read once: it should displace nothing that is read again.
template <int VEC>
__device__ inline Vec<VEC> stream_vec(const float* p) {
  if constexpr (VEC == 4) {
    const float4 v = __ldcs(reinterpret_cast<const float4*>(p));
    return {{v.x, v.y, v.z, v.w}};
  } else if constexpr (VEC == 2) {
    const float2 v = __ldcs(reinterpret_cast<const float2*>(p));
    return {{v.x, v.y}};
  } else {
    return {{__ldcs(p)}};
  }
}

template <int VEC>
__device__ inline void store_vec(float* p, const Vec<VEC>& v) {
  *reinterpret_cast<Vec<VEC>*>(p) = v;
}

// Whether index lies inside an edge of the given extent: the only form in which kernels test edges.
__device__ inline bool in_bounds(long long index, long long extent) { return index < extent; }

// The first `left` of VEC floats, zeros after them; what lies past the edge is not read. left may
// be zero or negative.
template <int VEC>
__device__ inline Vec<VEC> load_vec_edge(const float* p, int left) {
  if (in_bounds(VEC - 1, left)) return load_vec<VEC>(p);
  Vec<VEC> v;
#pragma unroll
  for (int i = 0; i < VEC; ++i) v.x[i] = in_bounds(i, left) ? p[i] : 0.0f;
  return v;
}

template <int VEC>
__device__ inline Vec<VEC> stream_vec_edge(const float* p, int left) {
  return in_bounds(VEC - 1, left) ? stream_vec<VEC>(p) : load_vec_edge<VEC>(p, left);
}

}  // namespace gemm_tune
