// SPDX-License-Identifier: Apache-2.0
// What the kernel that multiplies parts asks first: whether they lose too much.
#pragma once

#include "kernel_templates/device/parts/output.cuh"

namespace gemm_tune::parts {

// lines: of all matrices.
__device__ inline int flag_of_kept(const OperandCopy& copy, long long lines) {
  if (copy.kept == nullptr) return 0;
  return __ldcg(reinterpret_cast<const int*>(copy.kept + copy.factors_at) + lines);
}

// Whether the parts of an operand lose too much. The last CTA that has read the flag of this call
// lowers it for the next one.
__device__ inline bool read_flags(const Args& args) {
  int flag = __ldcg(args.flags);
  if (k_blocks_of(args) > 0) {
    flag |= flag_of_kept(args.a, 1LL * args.tiles.matrices * args.M);
    flag |= flag_of_kept(args.b, 1LL * args.tiles.matrices * args.N);
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(args.flags + 1, 1) == static_cast<int>(gridDim.x) - 1) {
    args.flags[0] = 0;
    args.flags[1] = 0;
  }
  return flag != 0;
}

}  // namespace gemm_tune::parts
