// SPDX-License-Identifier: Apache-2.0
// Copies slice after slice of an operand whose rows begin anywhere, float by float: SliceCopy
// (device/copy/slice_copy.cuh) for accesses of 4 bytes, with the same interface and fewer
// instructions for addresses, of which each float would else take two.
//
// Where k runs along the stored rows, a thread keeps the address of each of its rows. Elsewhere a
// thread copies places of few rows, constants apart; places past the matrix are left out, since
// nobody stores what comes of them.
#pragma once

#include "kernel_templates/device/copy/async_copy.cuh"
#include "kernel_templates/device/copy/slice_map.cuh"
#include "kernel_templates/device/element/vec.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

// Single floats along the edge (device/copy/narrow_copy.cuh): a warp copies 32 neighbours of a row
// at a time, then the next of the same row, since each row costs address arithmetic and places
// along it cost none. The warps that share a row; 0 where floats cannot be dealt out in this way.
constexpr int warps_of_row(int edge, int bk, int threads) {
  const int warps = threads / 32;
  for (int sharing = 1; sharing <= warps && edge % 32 == 0; ++sharing) {
    const bool is_even = warps % sharing == 0 && edge / 32 % sharing == 0;
    if (is_even && bk % (warps / sharing) == 0) return sharing;
  }
  return 0;
}

// The place of a thread's float in the first pass, and by how much a later pass moves it. Where k
// runs along the stored rows they are those of vectors of one element.
constexpr SlicePlace narrow_place(int edge, int bk, int threads, int thread, bool along_k) {
  if (along_k) return slice_place(edge, thread, 1, true);
  const int at_once = 32 * warps_of_row(edge, bk, threads);  // neighbours
  return {thread % at_once, thread / at_once};
}
constexpr SlicePlace narrow_offset(int edge, int bk, int threads, bool along_k, int pass) {
  if (along_k) return pass_offset(edge, threads, 1, true, pass);
  const int at_once = 32 * warps_of_row(edge, bk, threads);
  const int passes = edge / at_once;  // of a row
  return {pass % passes * at_once, pass / passes * (threads / at_once)};
}

#ifdef GT_EMULATOR
template <int OFFSET>
inline void load_if(float& to, const float* from, bool is_wanted) {
  if (is_wanted) to = from[OFFSET];
}
#else
// to = from[OFFSET], or nothing at all: without a branch, whose two ways the compiler would give
// addresses of their own. Volatile, so that the load stays where it is. from: in global memory.
template <int OFFSET>
__device__ inline void load_if(float& to, const float* from, bool is_wanted) {
  const int wanted = is_wanted ? 1 : 0;
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %2, 0;\n@wanted ld.global.f32 %0, [%1 + %3];\n}"
      : "+f"(to)
      : "l"(__cvta_generic_to_global(from)), "r"(wanted), "n"(OFFSET * 4));
}
#endif

// EDGE x BK elements at a time; ALONG_K: k runs along the stored rows. LD: floats from one k to the
// next in shared memory. Precondition: is_dealt_evenly(), and warps_of_row() > 0 unless ALONG_K.
template <int EDGE, int BK, int THREADS, bool ALONG_K, bool ASYNC, bool PREDICATED, int LD>
class NarrowCopy {
 public:
  // src: the first slice's first element; edge_left: how far the matrix reaches from there, at
  // least one element.
  __device__ NarrowCopy(const float* src, long long ld, int edge_left) : ld_(ld) {
    const SlicePlace place =
        narrow_place(EDGE, BK, THREADS, static_cast<int>(threadIdx.x), ALONG_K);
    smem_offset_ = place.k * LD + place.edge;
    k_ = place.k;
    if constexpr (ALONG_K) {
#pragma unroll
      for (int i = 0; i < kEdges; ++i) {
        int edge = place.edge + i * kEdgeStep;
        if constexpr (PREDICATED) {
          if (!in_bounds(edge, edge_left)) edge = edge_left - 1;
        }
        src_[i] = src + edge * ld + place.k;
      }
    } else {
      src_[0] = src + place.k * ld + place.edge;
#pragma unroll
      for (int i = 0; i < kEdges; ++i) {
        is_column_[i] = !PREDICATED || in_bounds(place.edge + i * kEdgeStep, edge_left);
      }
    }
  }

  // Sets out for the first slice, of k_count <= BK elements of K.
  __device__ void begin_first(float* smem, int k_count) {
    if constexpr (PREDICATED) {
      if constexpr (!ASYNC) {
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) share_[pass] = 0.0f;
      }
      copy<0, true>(smem + smem_offset_, addresses(), true, k_count);
      advance(k_count);
    } else {
      begin(smem, k_count > 0);
    }
  }

  // Sets out for the next slice, a whole one, if there is one.
  __device__ void begin(float* smem, bool is_wanted) {
    if constexpr (ASYNC) {
      copy<0, false>(smem + smem_offset_, addresses(), is_wanted, BK);
    } else if (is_wanted) {
      copy<0, false>(smem, addresses(), true, BK);
    }
    advance(BK);
  }

  // What waits in registers arrives; nothing where ASYNC.
  __device__ void finish(float* smem) const {
    if constexpr (!ASYNC) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        if (!has_part(pass)) break;
        smem[smem_offset_ + offset(pass).k * LD + offset(pass).edge] = share_[pass];
      }
    }
  }

 private:
  static constexpr int kPasses = copy_passes(EDGE, BK, THREADS, 1);
  static_assert(kPasses <= 32);

  static __device__ constexpr SlicePlace offset(int pass) {
    return narrow_offset(EDGE, BK, THREADS, ALONG_K, pass);
  }
  // Places along the edge that passes differ in.
  static constexpr int kEdgeStep = kPasses > 1 ? offset(1).edge : 0;
  static constexpr int kEdges = kEdgeStep == 0 ? 1 : min_of(kPasses, EDGE / kEdgeStep);
  static constexpr int place_of(int pass) { return offset(pass).edge / max_of(kEdgeStep, 1); }
  // Rows of which passes copy.
  static constexpr int kRows = ALONG_K ? kEdges : kPasses / kEdges;

  // Whether the thread takes part in a pass: in all but the last one, every thread does.
  __device__ bool has_part(int pass) const {
    if (is_last_pass_full(EDGE, BK, THREADS, 1) || pass + 1 < kPasses) return true;
    return k_ + offset(pass).k < BK;
  }

  // Where a thread's places of the next slice begin in each of its rows.
  struct Addresses {
    const float* row[kRows];
  };
  __device__ Addresses addresses() const {
    Addresses from;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if constexpr (ALONG_K) {
        from.row[i] = src_[i] + at_;
      } else {
        from.row[i] = src_[0] + offset(i * kEdges).k * ld_;
      }
    }
    return from;
  }

  __device__ void advance(int k_count) {
    if constexpr (ALONG_K) {
      at_ += k_count;
    } else {
      src_[0] += k_count * ld_;
    }
  }

  // The passes from PASS on, by recursion, since the instructions want their offsets as constants.
  template <int PASS, bool FIRST>
  __device__ void copy(float* smem, const Addresses& from, bool is_wanted, int k_count) {
    if constexpr (PASS < kPasses) {
      constexpr SlicePlace kBy = offset(PASS);
      constexpr int kRow = ALONG_K ? place_of(PASS) : PASS / kEdges;
      constexpr int kFrom = ALONG_K ? kBy.k : kBy.edge;
      constexpr int kTo = (kBy.k * LD + kBy.edge) * 4;  // bytes
      bool inside = is_wanted && has_part(PASS);
      if constexpr (!ALONG_K && PREDICATED) inside = inside && is_column_[place_of(PASS)];
      if constexpr (FIRST) inside = inside && in_bounds(k_ + kBy.k, k_count);
      if constexpr (!ASYNC) {
        load_if<kFrom>(share_[PASS], from.row[kRow], inside);
      } else if constexpr (!FIRST) {
        copy_async_if<4, kTo>(smem, from.row[kRow] + kFrom, inside);
      } else if (has_part(PASS)) {
        copy_async_or_zero<4, kTo>(smem, from.row[kRow] + kFrom, inside);
      }
      copy<PASS + 1, FIRST>(smem, from, is_wanted, k_count);
    }
  }

  // Of the first slice in each row where k runs along rows, else of the next slice in one row.
  const float* src_[ALONG_K ? kEdges : 1];
  int at_ = 0;  // of the next slice, from src_, where k runs along rows
  const long long ld_;
  int smem_offset_, k_;
  bool is_column_[ALONG_K ? 1 : kEdges];  // which places along the edge lie in the matrix
  float share_[ASYNC ? 1 : kPasses];
};

}  // namespace gemm_tune
