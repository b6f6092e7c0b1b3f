// SPDX-License-Identifier: Apache-2.0
// What threads of a CTA and of its cluster wait for: mbarriers, named barriers, the cluster's
// barrier.
//
// An mbarrier's phase ends when its count of threads has arrived and the bytes that it expects were
// delivered; a waiter names the phase by its parity. Every wait gives up after some seconds, so
// that a fault ends the kernel. PTX ISA 9.0, section "Parallel Synchronization and Communication
// Instructions". The emulator supplies the same functions.
#pragma once

#include "kernel_templates/device/tile/named_barrier.cuh"
#include "kernel_templates/device/tile/smem.cuh"

#ifndef GT_EMULATOR
namespace gemm_tune::wgmma {

using Barrier = unsigned long long;

using gemm_tune::shared_memory;

// The same address. The compiler keeps it in a register, where it had computed it anew at each use
// from the CTA's number in its cluster, which takes as long to read as a barrier.
__device__ inline char* kept(char* smem) {
  asm volatile("" : "+l"(smem));
  return smem;
}

__device__ inline unsigned smem_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ inline void init_barrier(Barrier* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_address(barrier)), "r"(count));
}

// Makes initialised barriers known to the copy engine and to the cluster, before their first use.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and the phase waits for this many bytes more.
__device__ inline void arrive_expecting(Barrier* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_address(barrier)),
      "r"(bytes)
      : "memory");
}

__device__ inline void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_address(barrier)) : "memory");
}

// Arrives at the barrier that CTA `rank` of the cluster has at the same place.
__device__ inline void arrive_at_peer(Barrier* barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 peer;\nmapa.shared::cluster.u32 peer, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [peer];\n}" ::"r"(smem_address(barrier)),
      "r"(rank)
      : "memory");
}

__device__ inline bool try_wait(Barrier* barrier, int parity) {
  unsigned done;
  asm volatile(
      "{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.u32 %0, 1, 0, done;\n}"
      : "=r"(done)
      : "r"(smem_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Tries are counted: reading a clock in this loop makes kernels 30 % slower.
__device__ inline void wait(Barrier* barrier, int parity) {
  constexpr int kMostTries = 4'000'000;
  int tries = 0;
  while (!try_wait(barrier, parity)) {
    if (++tries > kMostTries) __trap();
  }
}

using gemm_tune::meet;

// Counts as one of the `threads` of meet(), and goes on.
__device__ inline void announce(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// All threads of all CTAs of the cluster. Orders no memory: a release would wait for all of the
// CTA's stores to global memory, which takes over a microsecond.
__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                   : "memory");
}

__device__ inline int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Four floats into the shared memory of CTA `rank`, to where `to` is in this CTA's; their bytes
// count at the barrier that it has at the same place.
__device__ inline void store_at_peer(float* to, Barrier* barrier, int rank, float x, float y,
                                     float z, float w) {
  asm volatile(
      "{\n.reg .b32 peer, counts;\nmapa.shared::cluster.u32 peer, %0, %2;\n"
      "mapa.shared::cluster.u32 counts, %1, %2;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [peer], {%3, %4, %5, %6}, "
      "[counts];\n}" ::"r"(smem_address(to)),
      "r"(smem_address(barrier)), "r"(rank), "f"(x), "f"(y), "f"(z), "f"(w)
      : "memory");
}

// The value of the warp's first lane, which the compiler then knows to be the same in all lanes.
__device__ inline int uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }

// True in one of the warp's threads. The compiler then knows that behind a branch on it one thread
// runs, and keeps what the copy engine's instructions read in registers of the warp.
__device__ inline bool is_elected() {
  unsigned elected;
  asm volatile(
      "{\n.reg .pred elected;\nelect.sync _|elected, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, elected;\n}"
      : "=r"(elected));
  return elected != 0;
}

// Lets the next launch of the stream begin as CTAs of this one end, where the launch allows it
// (programmatic dependent launch); it waits for this launch's results by await_earlier_launch().
__device__ inline void allow_next_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until the launches that this one depends on are done, and what they stored is visible.
__device__ inline void await_earlier_launch() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Registers of this warpgroup's threads from now on.
template <int COUNT>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

}  // namespace gemm_tune::wgmma
#endif
