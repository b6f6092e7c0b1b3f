// SPDX-License-Identifier: Apache-2.0
// What the kernel that multiplies parts asks first: whether lines lose numbers, and how many.
#pragma once

#include "kernel_templates/device/parts/output.cuh"

namespace gemm_tune::parts {

// As the call that has made a copy left them, else null. lines: of all matrices.
__device__ inline const int* flags_of_kept(const OperandCopy& copy, int parts, long long lines) {
  if (copy.kept == nullptr) return nullptr;
  return reinterpret_cast<const int*>(copy.kept + copy.factors_at + told_bytes(parts, lines));
}

// How many lines of a kept copy lose numbers, be it A or B of the call that has made it. Where that
// call did not tell which, beside an operand of 16 bits, they are too many.
__device__ inline int losing_of_kept(const int* flags) {
  const int lines = __ldcg(flags + 2) + __ldcg(flags + 3);
  return lines == 0 && __ldcg(flags) != 0 ? kMostTold + 1 : lines;
}

// Where some lose numbers.
template <int PARTS_A, int PARTS_B>
__device__ inline Losing losing_lines(const Args& args, const int* kept_a, const int* kept_b) {
  if (!are_lines_told(PARTS_A, PARTS_B)) return {-1};
  const int rows = kept_a == nullptr ? __ldcg(args.flags + 2) : losing_of_kept(kept_a);
  const int cols = kept_b == nullptr ? __ldcg(args.flags + 3) : losing_of_kept(kept_b);
  const bool are_few = rows <= most_losing(1LL * args.tiles.matrices * args.M) &&
                       cols <= most_losing(1LL * args.tiles.matrices * args.N);
  return {are_few ? cols << 16 | rows : -1};
}

// The last CTA that has read the flags of this call lowers them for the next one.
template <int PARTS_A, int PARTS_B>
__device__ inline Losing read_flags(const Args& args) {
  int flag = __ldcg(args.flags);
  const int *kept_a = nullptr, *kept_b = nullptr;
  if (k_blocks_of(args) > 0) {
    kept_a = flags_of_kept(args.a, PARTS_A, 1LL * args.tiles.matrices * args.M);
    kept_b = flags_of_kept(args.b, PARTS_B, 1LL * args.tiles.matrices * args.N);
    if (kept_a != nullptr) flag |= __ldcg(kept_a);
    if (kept_b != nullptr) flag |= __ldcg(kept_b);
  }
  Losing losing = {0};
  if (flag != 0) losing = losing_lines<PARTS_A, PARTS_B>(args, kept_a, kept_b);
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(args.flags + 1, 1) == static_cast<int>(gridDim.x) - 1) {
    for (int i = 0; i < 4; ++i) args.flags[i] = 0;
  }
  return losing;
}

}  // namespace gemm_tune::parts
