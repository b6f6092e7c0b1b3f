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

}  // namespace gemm_tune
