// Copies slice after slice of an operand from global into shared memory, by all threads of a CTA.
//
// In two halves, so that loads can be under way while the slice before is multiplied. Rows past the
// matrix and k past the end become zeros and are not read; matrix edges cut no vector in two, which
// the launch recipe's multiples see to.
#pragma once

#include "kernel_templates/device/async_copy.cuh"
#include "kernel_templates/device/slice_map.cuh"
#include "kernel_templates/device/vec.cuh"

namespace gemm_tune {

// EDGE x BK elements at a time; ALONG_K: k runs along the stored rows. LD: floats from one k to the
// next in shared memory.
template <int EDGE, int BK, int THREADS, int VEC, bool ALONG_K, bool ASYNC, bool PREDICATED, int LD>
class SliceCopy {
 public:
  // src: the first slice's first element; edge_left: how far the matrix reaches from there.
  __device__ SliceCopy(const float* src, long long ld, int edge_left) : ld_(ld) {
    const SlicePlace place = slice_place(EDGE, static_cast<int>(threadIdx.x), VEC, ALONG_K);
    src_ = src + (ALONG_K ? place.edge * ld + place.k : place.k * ld + place.edge);
    smem_offset_ = place.k * LD + place.edge;
    k_ = place.k;
    if constexpr (PREDICATED) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (in_bounds(place.edge + offset(pass).edge, edge_left)) edge_mask_ |= 1u << pass;
      }
    }
  }

  // Sets out for the next slice, if there is one. k_left: K elements from its first one on. What
  // arrives for want of a slice is zeros, or nothing.
  __device__ void begin(float* smem, int k_left) {
    if constexpr (PREDICATED) {
      const unsigned mask = k_left < BK ? edge_mask_ & k_mask(k_left) : edge_mask_;
      begin_from<0>(smem, src_, [&](int pass) { return (mask >> pass & 1) != 0; });
    } else {
      begin_from<0>(smem, src_, [&](int) { return k_left > 0; });
    }
    src_ += ALONG_K ? BK : BK * ld_;
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
  // The passes from PASS on, whose stored row begins at `row`. By recursion, since cp.async wants
  // its offsets as constants.
  template <int PASS, class IsInside>
  __device__ void begin_from(float* smem, const float* row, IsInside is_inside) {
    if constexpr (PASS < kPasses) {
      constexpr SlicePlace by = offset(PASS);
      constexpr int kTo = by.k * LD + by.edge;
      const float* from = row + (ALONG_K ? by.k : by.edge);
      const bool inside = is_inside(PASS);
      if constexpr (!ASYNC) {
        if (PREDICATED && !inside) share_[PASS] = Vec<VEC>{};
        if (inside) share_[PASS] = load_vec<VEC>(from);
      } else if constexpr (PREDICATED) {
        copy_async_or_zero<kBytes, 4 * kTo>(smem + smem_offset_, inside ? from : src_, inside);
      } else {
        copy_async_if<kBytes, 4 * kTo>(smem + smem_offset_, from, inside);
      }
      constexpr int kNextRow = PASS + 1 < kPasses ? row_of(PASS + 1) : 0;
      if constexpr (kNextRow == row_of(PASS)) {
        begin_from<PASS + 1>(smem, row, is_inside);
      } else if constexpr (kNextRow == 0) {
        begin_from<PASS + 1>(smem, src_, is_inside);
      } else {
        begin_from<PASS + 1>(smem, row + (kNextRow - row_of(PASS)) * ld_, is_inside);
      }
    }
  }

  static_assert(!(ASYNC && ALONG_K && VEC > 1));
  static constexpr int kBytes = VEC * 4;
  static constexpr int kPasses = copy_passes(EDGE, BK, THREADS, VEC);
  static_assert(kPasses <= 32);

  static __device__ constexpr SlicePlace offset(int pass) {
    return pass_offset(EDGE, THREADS, VEC, ALONG_K, pass);
  }

  // The stored row of a pass, counted from the first pass's.
  static __device__ constexpr int row_of(int pass) {
    return ALONG_K ? offset(pass).edge : offset(pass).k;
  }
  // The passes whose vector lies before the end of k.
  __device__ unsigned k_mask(int k_left) const {
    unsigned mask = 0;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (in_bounds(k_ + offset(pass).k, k_left)) mask |= 1u << pass;
    }
    return mask;
  }

  const float* src_;  // of the first pass, in the next slice
  const long long ld_;
  int smem_offset_, k_;
  unsigned edge_mask_ = 0;
  Vec<VEC> share_[ASYNC ? 1 : kPasses];
};

}  // namespace gemm_tune
