// Copies slice after slice of an operand from global into shared memory, by all threads of a CTA.
//
// In two halves, so that loads can be under way while the slice before is multiplied. A ragged K is
// dealt with once, by a short first slice: what it lacks are zeros. Rows (or columns) past the
// matrix repeat its last one, since nobody stores what comes of them; so the main loop tests no
// edge. Matrix edges cut no vector in two, which the launch recipe's multiples see to.
#pragma once

#include "kernel_templates/device/async_copy.cuh"
#include "kernel_templates/device/slice_map.cuh"
#include "kernel_templates/device/vec.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

// EDGE x BK elements at a time; ALONG_K: k runs along the stored rows. LD: floats from one k to the
// next in shared memory.
template <int EDGE, int BK, int THREADS, int VEC, bool ALONG_K, bool ASYNC, bool PREDICATED, int LD>
class SliceCopy {
 public:
  // src: the first slice's first element; edge_left: how far the matrix reaches from there, at
  // least one vector.
  __device__ SliceCopy(const float* src, long long ld, int edge_left) : ld_(ld) {
    const SlicePlace place = slice_place(EDGE, static_cast<int>(threadIdx.x), VEC, ALONG_K);
    smem_offset_ = place.k * LD + place.edge;
    k_ = place.k;
#pragma unroll
    for (int i = 0; i < kSources; ++i) {
      int edge = place.edge + i * kEdgeStep;
      if constexpr (PREDICATED) {
        if (!in_bounds(edge, edge_left)) edge = edge_left - (ALONG_K ? 1 : VEC);
      }
      src_[i] = src + (ALONG_K ? edge * ld + place.k : place.k * ld + edge);
    }
  }

  // Sets out for the first slice, of k_count <= BK elements of K.
  __device__ void begin_first(float* smem, int k_count) {
    if constexpr (PREDICATED) {
      begin_from<0, true>(smem, src_[0],
                          [&](int pass) { return in_bounds(k_ + offset(pass).k, k_count); });
      advance(k_count);
    } else {
      begin(smem, k_count > 0);
    }
  }

  // Sets out for the next slice, a whole one, if there is one.
  __device__ void begin(float* smem, bool is_wanted) {
    begin_from<0, false>(smem, src_[0], [&](int) { return is_wanted; });
    advance(BK);
  }

  // What waits in registers arrives; nothing where ASYNC.
  __device__ void finish(float* smem) const {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        float* to = smem + smem_offset_ + offset(pass).k * LD + offset(pass).edge;
        if constexpr (ALONG_K) {
#pragma unroll
          for (int i = 0; i < VEC; ++i) to[i * LD] = share_[pass].x[i];
        } else {
          store_vec<VEC>(to, share_[pass]);
        }
      }
    }
  }

 private:
  static constexpr int kBytes = VEC * 4;
  static constexpr int kPasses = copy_passes(EDGE, BK, THREADS, VEC);
  static_assert(kPasses <= 32);
  static_assert(!(ASYNC && ALONG_K && VEC > 1));

  static __device__ constexpr SlicePlace offset(int pass) {
    return pass_offset(EDGE, THREADS, VEC, ALONG_K, pass);
  }
  // The stored row of a pass, counted from the first pass's.
  static __device__ constexpr int row_of(int pass) {
    return ALONG_K ? offset(pass).edge : offset(pass).k;
  }
  // Places along the edge that passes differ in; where edges matter, each has an address of its
  // own.
  static constexpr int kEdgeStep = kPasses > 1 ? offset(1).edge : 0;
  static constexpr int kEdges = kEdgeStep == 0 ? 1 : min_of(kPasses, EDGE / kEdgeStep);
  static constexpr int kSources = PREDICATED ? kEdges : 1;
  // The passes from PASS on; row: where PASS's stored row begins. What is not inside becomes zeros
  // or, where nobody reads it, anything. By recursion, since cp.async wants its offsets as
  // constants.
  template <int PASS, bool ZERO, class IsInside>
  __device__ void begin_from(float* smem, const float* row, IsInside is_inside) {
    if constexpr (PASS < kPasses) {
      constexpr SlicePlace by = offset(PASS);
      constexpr int kTo = by.k * LD + by.edge;
      const float* from = source<PASS>(row);
      const bool inside = is_inside(PASS);
      if constexpr (!ASYNC) {
        if (ZERO && !inside) share_[PASS] = Vec<VEC>{};
        if (inside) share_[PASS] = load_vec<VEC>(from);
      } else if constexpr (ZERO) {
        copy_async_or_zero<kBytes, 4 * kTo>(smem + smem_offset_, from, inside);
      } else {
        copy_async_if<kBytes, 4 * kTo>(smem + smem_offset_, from, inside);
      }
      constexpr int kNextRow = PASS + 1 < kPasses ? row_of(PASS + 1) : 0;
      if constexpr (kNextRow == row_of(PASS)) {
        begin_from<PASS + 1, ZERO>(smem, row, is_inside);
      } else if constexpr (kNextRow == 0) {
        begin_from<PASS + 1, ZERO>(smem, src_[0], is_inside);
      } else {
        begin_from<PASS + 1, ZERO>(smem, row + (kNextRow - row_of(PASS)) * ld_, is_inside);
      }
    }
  }

  template <int PASS>
  __device__ const float* source(const float* row) const {
    constexpr SlicePlace by = offset(PASS);
    if constexpr (kSources == 1) return row + (ALONG_K ? by.k : by.edge);
    const float* from = src_[by.edge / max_of(kEdgeStep, 1)];
    return ALONG_K ? from + by.k : from + by.k * ld_;
  }

  __device__ void advance(int k) {
#pragma unroll
    for (int i = 0; i < kSources; ++i) src_[i] += ALONG_K ? k : k * ld_;
  }

  const float* src_[kSources];  // in the next slice
  const long long ld_;
  int smem_offset_, k_;
  Vec<VEC> share_[ASYNC ? 1 : kPasses];
};

}  // namespace gemm_tune
