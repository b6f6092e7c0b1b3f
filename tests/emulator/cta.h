// SPDX-License-Identifier: Apache-2.0
// What a kernel compiled for the CPU sees of its CTA: the built-in indices, barriers, what a warp
// does together, shared memory, also that of other CTAs in its cluster, asynchronous copies.
//
// The one interface between a kernel's shared object and the emulator that runs it; the kernel's
// side rests on it in cuda_on_cpu.h, the emulator's in emulator.h. One thread at a time: the
// threads of a CTA are fibers.
#pragma once

#include "kernel_templates/device/gemm_args.cuh"
#include "tests/emulator/tensor_core.h"

namespace gemm_tune {
struct RepackArgs;
}

namespace gemm_tune::emulator {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

class Cta {
 public:
  Index3 thread, block, block_dim, grid_dim;  // of the thread that is running

  // Returns once every thread of the CTA has come to the barrier at this line: whether any of them
  // came with true.
  virtual bool barrier(bool vote, const char* file, int line) = 0;

  // Returns once every lane of the thread's warp has come to this line: what the lane whose number
  // differs in the bits of lane_mask came with.
  virtual float shuffle_xor(unsigned members, float value, int lane_mask, const char* file,
                            int line) = 0;

  // kernel_templates/device/tensor_core.cuh: returns once every lane of the warp has come to this
  // line. load_matrices: of the 8 * matrices rows of 16 bytes whose addresses the first lanes
  // bring, a fragment of each matrix. multiply_add: sums are the lane's four elements of A * B +
  // sums.
  virtual void load_matrices(const void* row, int matrices, bool transposed, unsigned* fragments,
                             const char* file, int line) = 0;
  virtual void multiply_add(const MmaOperands& operands, float* sums, const char* file,
                            int line) = 0;

  // The CTA's index-th shared array of n floats, aligned to 16 bytes; every thread takes the same.
  virtual float* take(int index, int n) = 0;

  // kernel_templates/device/async_copy.cuh: `inside` of so many bytes are copied, the others become
  // zero.
  virtual void copy_async(void* smem, const void* global, int bytes, int inside) = 0;
  virtual void commit_copies() = 0;
  virtual void wait_copies(int groups_left) = 0;

  // kernel_templates/device/cluster.cuh: the thread arrives at its cluster's barrier; later it
  // waits there, at this line, until all threads of the cluster's CTAs have arrived.
  virtual void cluster_arrive() = 0;
  virtual void cluster_wait(const char* file, int line) = 0;

  // Where the cluster's index-th CTA has what this one has at `own`; poisoned before it has taken
  // that array and after it has ended.
  virtual const float* peer_smem(const float* own, int index) = 0;

 protected:
  ~Cta() = default;
};

// The one function that a kernel's shared object exports: runs one thread from its first
// instruction to its last.
using ThreadFunction = void(Cta& cta, const GemmArgs& args);
inline constexpr const char* kThreadFunctionName = "gt_emulated_thread";
// The same of the launch before the kernel, which is there where it is compiled with TUNED_REPACK.
using RepackThreadFunction = void(Cta& cta, const RepackArgs& args);
inline constexpr const char* kRepackThreadFunctionName = "gt_emulated_repack_thread";
// A ThreadFunction of the launch after the kernel, which is there where it is compiled with
// TUNED_REDUCE.
inline constexpr const char* kReduceThreadFunctionName = "gt_emulated_reduce_thread";
// Is there where the kernel is compiled with TUNED_IN_PLACE.
inline constexpr const char* kInPlaceOnlyName = "gt_emulated_in_place";
// An int, TUNED_EPILOGUE, where the kernel is compiled with it.
inline constexpr const char* kEpilogueName = "gt_emulated_epilogue";

}  // namespace gemm_tune::emulator
