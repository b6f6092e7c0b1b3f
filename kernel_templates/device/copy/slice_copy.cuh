// SPDX-License-Identifier: Apache-2.0
// Copies slice after slice of an operand from global into shared memory, by all threads of a CTA.
//
// In two halves, so that loads can be under way while the slice before is multiplied. A ragged K is
// dealt with once, by a short first slice: what it lacks are zeros. Rows (or columns) past the
// matrix repeat its last one, since nobody stores what comes of them; so the main loop tests no
// edge. Matrix edges cut no vector in two, which the launch recipe's multiples see to.
#pragma once

#include "kernel_templates/device/copy/async_copy.cuh"
#include "kernel_templates/device/copy/slice_map.cuh"
#include "kernel_templates/device/element/packed.cuh"
#include "kernel_templates/device/element/select.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

// EDGE x BK elements at a time; ALONG_K: k runs along the stored rows. LD: floats from one k to the
// next in shared memory. STEPPED: addresses step from slice to slice, instead of one offset from
// the first slice's. TYPE: of the elements, which are widened to f32 unless ASYNC.
template <int EDGE, int BK, int THREADS, int VEC, bool ALONG_K, bool ASYNC, bool PREDICATED, int LD,
          bool STEPPED = false, int TYPE = kTypeF32>
class SliceCopy {
 public:
  // src: the first slice's first element; edge_left: how far the matrix reaches from there, at
  // least one vector.
  __device__ SliceCopy(const Stored<TYPE>* src, long long ld, int edge_left) : ld_(ld) {
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
      const Sources from = sources();
      if constexpr (ASYNC) {
        copy_first<0>(smem + smem_offset_, from, k_count);
      } else {
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
          const bool inside = has_part(pass) && is_inside(pass, k_count);
          share_[pass] = inside ? load_packed<TYPE, VEC>(from.x[pass]) : Packed<TYPE, VEC>{};
        }
      }
      if constexpr (STEPPED) {
        advance(k_count);
      } else {
        at_ = k_count * step();
      }
    } else {
      begin(smem, k_count > 0);
    }
  }

  // Sets out for the next slice, a whole one, if there is one.
  __device__ void begin(float* smem, bool is_wanted) {
    const Sources from = sources();
    if constexpr (ASYNC) {
      copy<0>(smem + smem_offset_, from, is_wanted);
    } else if (is_wanted) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (has_part(pass)) share_[pass] = load_packed<TYPE, VEC>(from.x[pass]);
      }
    }
    if constexpr (STEPPED) {
      advance(BK);
    } else {
      at_ += BK * step();
    }
  }

  // What waits in registers arrives; nothing where ASYNC.
  __device__ void finish(float* smem) const {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (!has_part(pass)) break;
        float* to = smem + smem_offset_ + offset(pass).k * LD + offset(pass).edge;
        if constexpr (ALONG_K) {
#pragma unroll
          for (int i = 0; i < VEC; ++i) to[i * LD] = value_of(share_[pass], i);
        } else {
          store_vec<VEC>(to, widened(share_[pass]));
        }
      }
    }
  }

 private:
  static constexpr int kBytes = VEC * 4;
  static constexpr int kPasses = copy_passes(EDGE, BK, THREADS, VEC);
  static_assert(kPasses <= 32);
  static_assert(!(ASYNC && ALONG_K && VEC > 1));
  static_assert(!ASYNC || TYPE == kTypeF32);

  static __device__ constexpr SlicePlace offset(int pass) {
    return pass_offset(EDGE, THREADS, VEC, ALONG_K, pass);
  }
  // Places along the edge that passes differ in; where edges matter, each has an address of its
  // own.
  static constexpr int kEdgeStep = kPasses > 1 ? offset(1).edge : 0;
  static constexpr int kEdges = kEdgeStep == 0 ? 1 : min_of(kPasses, EDGE / kEdgeStep);
  static constexpr int kSources = PREDICATED ? kEdges : 1;

  // Whether the thread takes part in a pass: in all but the last one, every thread does.
  __device__ bool has_part(int pass) const {
    if (is_last_pass_full(EDGE, BK, THREADS, VEC) || pass + 1 < kPasses) return true;
    return k_ + offset(pass).k < BK;
  }

  // Where the passes of the next slice begin.
  struct Sources {
    const Stored<TYPE>* x[kPasses];
  };
  __device__ Sources sources() const {
    const Stored<TYPE>* at[kSources];
#pragma unroll
    for (int i = 0; i < kSources; ++i) at[i] = !STEPPED || ALONG_K ? src_[i] + at_ : src_[i];
    Sources from;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const SlicePlace by = offset(pass);
      const int source = kSources == 1 ? 0 : by.edge / max_of(kEdgeStep, 1);
      const int edge = kSources == 1 ? by.edge : 0;
      from.x[pass] = at[source] + (ALONG_K ? edge * ld_ + by.k : by.k * ld_ + edge);
    }
    return from;
  }

  __device__ bool is_inside(int pass, int k_count) const {
    return in_bounds(k_ + offset(pass).k, k_count);
  }

  // The passes from PASS on, by recursion, since cp.async wants its offsets as constants.
  template <int PASS>
  static constexpr int kTo = (offset(PASS).k * LD + offset(PASS).edge) * 4;  // bytes

  template <int PASS>
  __device__ void copy_first(float* smem, const Sources& from, int k_count) {
    if constexpr (PASS < kPasses) {
      if (has_part(PASS)) {
        copy_async_or_zero<kBytes, kTo<PASS>>(smem, from.x[PASS], is_inside(PASS, k_count));
      }
      copy_first<PASS + 1>(smem, from, k_count);
    }
  }
  template <int PASS>
  __device__ void copy(float* smem, const Sources& from, bool is_wanted) {
    if constexpr (PASS < kPasses) {
      copy_async_if<kBytes, kTo<PASS>>(smem, from.x[PASS], is_wanted && has_part(PASS));
      copy<PASS + 1>(smem, from, is_wanted);
    }
  }

  // On to the next slice, where STEPPED. Where k runs along the stored rows one number does for all
  // of them: a product and a 64-bit sum are one instruction.
  __device__ void advance(int k_count) {
    if constexpr (ALONG_K) {
      at_ += k_count;
    } else {
#pragma unroll
      for (int i = 0; i < kSources; ++i) src_[i] += k_count * ld_;
    }
  }
  // Elements from one k to the next.
  __device__ long long step() const { return ALONG_K ? 1 : ld_; }

  const Stored<TYPE>* src_[kSources];
  const long long ld_;
  // Of the next slice, from src_; unused where STEPPED and k runs from row to row.
  typename Select<STEPPED, int, long long>::Type at_ = 0;
  int smem_offset_, k_;
  Packed<TYPE, VEC> share_[ASYNC ? 1 : kPasses];
};

}  // namespace gemm_tune
