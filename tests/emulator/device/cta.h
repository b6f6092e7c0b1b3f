// SPDX-License-Identifier: Apache-2.0
// What a kernel compiled for the CPU sees of its CTA: the built-in indices, barriers, what a warp
// does together, shared memory, also that of other CTAs in its cluster, asynchronous copies.
//
// The one interface between a kernel's shared object and the emulator that runs it; the kernel's
// side rests on it in cuda_on_cpu.h, the emulator's in emulator.h. One thread at a time: the
// threads of a CTA are fibers.
#pragma once

#include "tests/emulator/device/tensor_core.h"
#include "tests/emulator/device/warpgroup.h"

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

  // kernel_templates/device/tile/tensor_core.cuh: returns once every lane of the warp has come to
  // this line. load_matrices: of the 8 * matrices rows of 16 bytes whose addresses the first lanes
  // bring, a fragment of each matrix. multiply_add: sums are the lane's four elements of A * B +
  // sums.
  virtual void load_matrices(const void* row, int matrices, bool transposed, unsigned* fragments,
                             const char* file, int line) = 0;
  virtual void multiply_add(const MmaOperands& operands, float* sums, const char* file,
                            int line) = 0;

  // kernel_templates/wgmma/tensor_copy.cuh: the same, and each lane's row is written.
  virtual void store_matrices(void* row, int matrices, bool transposed, const unsigned* fragments,
                              const char* file, int line) = 0;

  // The CTA's index-th shared array of n floats, aligned to 16 bytes; every thread takes the same.
  virtual float* take(int index, int n) = 0;

  // kernel_templates/device/copy/async_copy.cuh: `inside` of so many bytes are copied, the others
  // become zero.
  virtual void copy_async(void* smem, const void* global, int bytes, int inside) = 0;
  virtual void commit_copies() = 0;
  virtual void wait_copies(int groups_left) = 0;

  // kernel_templates/device/sum/cluster.cuh: the thread arrives at its cluster's barrier; later it
  // waits there, at this line, until all threads of the cluster's CTAs have arrived.
  virtual void cluster_arrive() = 0;
  virtual void cluster_wait(const char* file, int line) = 0;

  // Where the cluster's index-th CTA has what this one has at `own`; poisoned before it has taken
  // that array and after it has ended.
  virtual const float* peer_smem(const float* own, int index) = 0;

  // All shared memory, and the address of something in it.
  virtual char* take_all_smem() = 0;
  virtual unsigned smem_address(const void* p) = 0;

  // kernel_templates/wgmma/barriers.cuh. rank: of the cluster's CTAs, or kOwn. Waits return when
  // what they wait for has happened.
  static constexpr int kOwn = -1;
  virtual void init_barrier(void* barrier, int count) = 0;
  virtual void publish_barriers() = 0;
  virtual void arrive(void* barrier, int rank, int expected_bytes) = 0;
  virtual void wait(const void* barrier, int parity, const char* file, int line) = 0;
  virtual void announce(int id, int threads) = 0;
  virtual void meet(int id, int threads, const char* file, int line) = 0;
  virtual int cluster_rank() = 0;
  virtual void store_at_peer(void* to, void* barrier, int rank, const float (&x)[4]) = 0;
  virtual void await_earlier_launch(const char* file, int line) = 0;

  // kernel_templates/wgmma/tensor_copy.cuh. map: a BoundTensorMap. ctas: a bit for the rank of each
  // that receives the box.
  virtual void load_box(unsigned ctas, void* to, const void* map, void* barrier,
                        const int (&from)[3]) = 0;
  virtual void store_box(const void* map, const void* from, const int (&to)[3]) = 0;
  virtual void commit_stores() = 0;
  virtual void wait_stores_read() = 0;
  virtual void publish_to_copies() = 0;

  // kernel_templates/wgmma/instruction.cuh.
  virtual void begin_multiply() = 0;
  virtual void multiply(const Product& product, float* sums) = 0;
  virtual void commit_multiply() = 0;
  virtual void wait_multiplied(int groups_left, const char* file, int line) = 0;

 protected:
  ~Cta() = default;
};

// What a kernel's shared object exports for each of its kernels, under this prefix and the kernel's
// name: runs one thread from its first instruction to its last. parameters: a pointer to each.
using ThreadFunction = void(Cta& cta, void* const* parameters);
inline constexpr const char* kThreadFunctionPrefix = "gt_emulated_";
// A bool: whether the kernel is for in-place products.
inline constexpr const char* kInPlaceOnlyName = "gt_is_in_place";
// A text: the epilogue that the kernel is compiled with.
inline constexpr const char* kEpilogueName = "gt_epilogue";

}  // namespace gemm_tune::emulator
