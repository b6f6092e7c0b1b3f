// SPDX-License-Identifier: Apache-2.0
// Thread-block clusters: CTAs that run at the same time and read each other's shared memory, from
// sm_90 on.
//
// TUNED_CLUSTER is the CTAs of a cluster, neighbours along the grid's y, or 1; GT_CLUSTER is the
// attribute of a kernel with such clusters. The barrier is the cluster's: a thread arrives and
// later waits for all threads of all its CTAs to have arrived. No CTA may end while another one may
// still read its shared memory. The emulator supplies the same functions. PTX ISA 9.0, sections
// "barrier.cluster", "membar / fence", "mapa".
#pragma once

#ifndef GT_EMULATOR

// An attribute cannot depend on a constant of the text: it is there or not, and no older
// architecture's compiler takes it. Clusters of one CTA do without, since their launches take up to
// 4 % longer (an H100 at 100000x64x64).
#if TUNED_CLUSTER > 1 && __CUDA_ARCH__ >= 900
#define GT_CLUSTER __cluster_dims__(1, TUNED_CLUSTER, 1)
#else
#define GT_CLUSTER
#endif

namespace gemm_tune {

// Whether a kernel with clusters of so many CTAs is compiled with the attribute that it needs.
constexpr bool has_its_cluster(int ctas) {
  return ctas == TUNED_CLUSTER && (ctas == 1 || __CUDA_ARCH__ >= 900);
}

// Arrives; what the thread did before is done for those that have waited, its loads included.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// Arrives; what the thread stored in its own CTA's shared memory before is there for those that
// have waited. Of nothing else: that spares a fence of global memory.
__device__ inline void cluster_arrive_stored() {
  asm volatile(
      "fence.release.sync_restrict::shared::cta.cluster;\n"
      "barrier.cluster.arrive.relaxed.aligned;" ::
          : "memory");
}

__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// What a CTA of the cluster has where `own` points to in this CTA's shared memory.
class PeerSmem {
 public:
  // cta: its blockIdx.y, of those in the cluster.
  __device__ PeerSmem(const float* own, int cta) {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(own));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at_) : "r"(at), "r"(cta));
  }

  __device__ float load(int i) const {
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(at_ + i * 4));
    return value;
  }

 private:
  unsigned at_;
};

}  // namespace gemm_tune
#endif
