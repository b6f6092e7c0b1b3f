// SPDX-License-Identifier: Apache-2.0
// The arguments of kernels that split fp32 operands into parts, and of those that multiply the
// parts. The layout is the same for host and device.
#pragma once

#include "kernel_templates/device/call/gemm_args.cuh"
#include "kernel_templates/device/element/element_type.cuh"
#include "kernel_templates/device/tile/tile_raster.cuh"

namespace gemm_tune::parts {

// An operand and its copy. This has for each matrix of the batch the high parts, then lower ones:
// lines of parts_k elements. Behind those of all matrices it has a factor for each line: what its
// parts count. Behind these it has, of scaled parts, what is told of lines that lose numbers
// (told_bytes()), which their parts do not hold as the accuracy class needs. In a copy that is kept
// for later calls (LaunchPlan::that_makes()) SplitArgs::flags follow. The copy of an operand of
// one part, which is of 16 bits, has its rows as they are stored, of copied_row() elements each.
struct SplitMatrix {
  const float* from;
  Bits16* to;
  long long ld, stride;  // of `from`
  long long factors_at;  // bytes from the copy's beginning
  int lines, shares;     // of a matrix: lines, and CTAs or wide strips that they are dealt out to
};

// flags: as in Args.
struct SplitArgs {
  SplitMatrix a, b;
  int* flags;
  int K, parts_k;
  int units_a;  // along the grid's x, which come first; 0 where B alone is split
  int batch;
};

// kept: the copy where an earlier call has made it, else null. Of an operand of one part, which has
// no factors, factors_at is the elements of a copied row, or 0 where it is read in place.
struct OperandCopy {
  const char* at;
  const char* kept;
  long long factors_at;
};

// flags[0]: 1 where lines of what this call splits lose numbers; kept copies have their own.
// flags[1]: CTAs that have read it. flags[2], flags[3]: how many lines of A and of B do, if that is
// told (are_lines_told()). All are 0 before and after a call.
struct Args {
  int M, N, K;
  TileRaster tiles;
  float alpha, beta;
  const float* A;  // one of A and B may be of 16 bits (stored())
  const float* B;
  float* D;
  const float* C;  // lies as D does; not read where beta is 0
  long long lda, ldb, ldd;
  long long stride_a, stride_b, stride_d;
  int* flags;
  OperandCopy a, b;
  const void* operands[kMostEpilogueOperands];
};

}  // namespace gemm_tune::parts
