// SPDX-License-Identifier: Apache-2.0
// A consumer's way from sums to D: D = alpha * sum + beta * C, computed in fp32 and rounded once.
//
// 16-bit elements pass through a buffer of the consumer, some columns at a time, from which the
// copy engine stores whole rows; or threads store their own elements, where D's rows are not
// aligned to 16 bytes. With SWAP the sums' rows are columns of D. beta == 0 never reads C.
#pragma once

#include "kernel_templates/wgmma/elements.cuh"
#include "kernel_templates/wgmma/pipeline.cuh"

namespace gemm_tune::wgmma {

class Store {
 public:
  // row: of the consumer's first row in the CTA tile.
  __device__ Store(const TensorMap& map, const Args& args, const Buffers& buffers, int group,
                   int row, int thread)
      : map_(map),
        args_(args),
        buffer_(buffers.store + group * round_up(store_bytes(kP), 1024)),
        barrier_(group + 1),
        row_(row),
        thread_(thread),
        warp_(thread / 32),
        lane_(thread % 32) {}

  // Columns [FIRST, FIRST + part_columns()) of the unit's tile.
  template <int FIRST>
  __device__ void store(Sums& sums, const Unit& unit) const {
    finish<FIRST>(sums, unit);
    if constexpr (store_by(kP) == StoreBy::boxes) {
#pragma unroll
      for (int col = FIRST; col < FIRST + part_columns(kP); col += kBoxes * kColumns) {
        if (thread_ == 0) wait_stores_read();
        meet(barrier_, kGroup);
#pragma unroll
        for (int box = 0; box < kBoxes; ++box) fill_box(sums, box, col + box * kColumns);
        publish_to_copies();
        meet(barrier_, kGroup);
#pragma unroll
        for (int box = 0; box < kBoxes; ++box) store_box_of(unit, box, col + box * kColumns);
        if (thread_ == 0) commit_stores();
      }
    } else {
      for_each_pair<FIRST>(sums, unit, [&](const float* x, int row, int col) {
        store_pair(args_, x, unit.batch, row, col);
      });
    }
  }

 private:
  static constexpr int kColumns = store_columns(kP), kBoxes = store_boxes(kP);
  static constexpr int kSwizzle = store_swizzle(kP);
  static constexpr int kRowBytes = kP.SWAP != 0 ? 128 : kColumns * 2;

  // D's elements of the sums of columns [FIRST, FIRST + part_columns()), in their place.
  template <int FIRST>
  __device__ void finish(Sums& sums, const Unit& unit) const {
    const float factor = factor_of_sums(args_);
    if (factor != 1.0f) {
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
        for (int j = FIRST / 2; j < (FIRST + part_columns(kP)) / 2; ++j) {
          sums[i][j] = scaled(factor, sums[i][j]);
        }
      }
    }
    if (args_.beta != 0.0f) {
      for_each_element<FIRST>(
          sums, unit, [&](float& x, int row, int col) { add_c(args_, x, unit.batch, row, col); });
    }
    if constexpr (kHasEpilogue) {
      for_each_pair<FIRST>(sums, unit, [&](float* x, int row, int col) {
        apply_epilogue(args_, x, unit.batch, row, col);
      });
    }
  }

  // Calls with the sum of each element that exists. A pair's branch keeps its loads from being
  // issued long before, which would take registers.
  template <int FIRST, class Call>
  __device__ void for_each_element(Sums& sums, const Unit& unit, Call call) const {
    for_each_pair<FIRST>(sums, unit, [&](float* x, int row, int col) {
      if (col >= args_.cols) return;
      const int next = min_of(col + 1, args_.cols - 1);  // of a sum that is not stored, any will do
      call(x[0], row, col);
      call(x[1], row, next);
    });
  }

  // Calls with pairs of neighbouring columns, of rows that exist.
  template <int FIRST, class Call>
  __device__ void for_each_pair(Sums& sums, const Unit& unit, Call call) const {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row(unit, i, half);
        if (row >= args_.rows) continue;
#pragma unroll
        for (int col = FIRST; col < FIRST + part_columns(kP); col += 8) {
          call(&sums[i][col / 2 + 2 * half], row, unit.col + col + lane_ % 4 * 2);
        }
      }
    }
  }

  // The thread's row of block i, of the two that it has.
  __device__ int first_row(const Unit& unit, int i, int half) const {
    return unit.row + row_ + row_of_sums(thread_, i, half);
  }

  // The two 8 x 8 matrices that columns `col` to `col` + 7 of the warp's rows of block i are.
  __device__ static void pack(unsigned (&x)[2], const Sums& sums, int i, int col) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const pair = &sums[i][col / 2 + 2 * half];
      x[half] = pack_pair<kP.CD>(pair[0], pair[1]);
    }
  }

  // Where lane l's row of matrix l / 8 begins; matrices: rows 0 to 7 and 8 to 15 of columns `col`
  // and on, then of columns `col` + 8 and on.
  __device__ char* row_of(char* box, int i, int col) const {
    const int matrix = lane_ / 8, in_matrix = lane_ % 8;
    int row, chunk;
    if constexpr (kP.SWAP != 0) {
      row = col + matrix / 2 * 8 + in_matrix;
      chunk = warp_ * 2 + matrix % 2;
      box += i * kColumns * kRowBytes;
    } else {
      row = i * kMmaM + warp_ * 16 + matrix % 2 * 8 + in_matrix;
      chunk = col / 8 + matrix / 2;
    }
    return box + row * kRowBytes + swizzled(chunk, row) * 16;
  }

  __device__ char* box_of(int box) const { return buffer_ + box * box_bytes(kP, kColumns); }

  __device__ void fill_box(const Sums& sums, int box, int first) const {
    char* const to = box_of(box);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int col = 0; col < kColumns / 16 * 16; col += 16) {
        unsigned x[2], y[2];
        pack(x, sums, i, first + col);
        pack(y, sums, i, first + col + 8);
        store_matrices<kP.SWAP != 0>(row_of(to, i, col), {x[0], x[1], y[0], y[1]});
      }
      if constexpr (kColumns % 16 != 0) {
        unsigned x[2];
        pack(x, sums, i, first + kColumns - 8);
        store_matrices<kP.SWAP != 0>(row_of(to, i, kColumns - 8), x);
      }
    }
  }

  // The copy engine leaves out whole chunks of 16 bytes only: where D ends inside of one, threads
  // copy the box, element by element.
  __device__ void store_box_of(const Unit& unit, int box, int col) const {
    const int end = kP.SWAP != 0 ? unit.row + row_ + group_rows(kP) : unit.col + col + kColumns;
    if (end > args_.N && args_.N % 8 != 0) return copy_box(unit, box_of(box), col);
    if (thread_ != 0) return;
    if constexpr (kP.SWAP != 0) {
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        store_box(map_, box_of(box) + i * kColumns * kRowBytes,
                  {unit.row + row_ + i * kMmaM, unit.col + col, unit.batch});
      }
    } else {
      store_box(map_, box_of(box), {unit.col + col, unit.row + row_, unit.batch});
    }
  }

  __device__ void copy_box(const Unit& unit, const char* box, int col) const {
    constexpr int kRows = kP.SWAP != 0 ? kColumns : group_rows(kP);  // of D, and its columns
    constexpr int kWidth = kP.SWAP != 0 ? group_rows(kP) : kColumns;
    const int first_row = kP.SWAP != 0 ? unit.col + col : unit.row + row_;
    const int first_col = kP.SWAP != 0 ? unit.row + row_ : unit.col + col;
    Bits16* const d = static_cast<Bits16*>(args_.D) + unit.batch * args_.stride_d;
#pragma unroll 1
    for (int i = thread_; i < kRows * kWidth; i += kGroup) {
      const int row = i / kWidth, in_row = i % kWidth;
      if (first_row + row >= args_.M || first_col + in_row >= args_.N) continue;
      constexpr int kOfBlock = kRowBytes / 2;  // with SWAP, blocks of 64 columns follow each other
      const char* const from = box + in_row / kOfBlock * kRows * kRowBytes + row * kRowBytes +
                               swizzled(in_row % kOfBlock / 8, row) * 16 + in_row % 8 * 2;
      d[(first_row + row) * args_.ldd + first_col + in_row] =
          *reinterpret_cast<const Bits16*>(from);
    }
  }

  // Where a row of the buffer has its 16-byte chunk.
  static __device__ int swizzled(int chunk, int row) {
    if constexpr (kSwizzle == 128) return chunk ^ row % 8;
    if constexpr (kSwizzle == 64) return chunk ^ row / 2 % 4;
    return chunk;
  }

  const TensorMap& map_;
  const Args& args_;
  char* const buffer_;
  const int barrier_, row_, thread_, warp_, lane_;
};

}  // namespace gemm_tune::wgmma
