// SPDX-License-Identifier: Apache-2.0
// Adds up what several CTAs computed of one tile, always in the same order: results are bitwise the
// same from run to run.
//
// CTAs of a cluster (SPLIT_K) bring each other the columns that each adds up, through shared
// memory. CTAs with parts of the last tiles (REDUCE) leave their sums in the workspace for the
// reduction kernel. A thread has the same elements of the tile in every CTA: nothing is rearranged.
#pragma once

#include "kernel_templates/device/sum/share_reduce.cuh"
#include "kernel_templates/wgmma/pipeline.cuh"
#include "kernel_templates/wgmma/schedule.cuh"

namespace gemm_tune::wgmma {

// Threads that hold a tile's sums; a thread's number among them.
constexpr int kHolders = kP.PINGPONG != 0 ? kGroup : kP.GROUPS * kGroup;
__device__ inline int holder(int group, int thread) {
  return kP.PINGPONG != 0 ? thread : group * kGroup + thread;
}

// The sums of the parts of tiles, in the workspace.
using PartSums = ShareReduce<kHolders, kBlocks * kP.BN / 2>;

// The cluster's parts of K of one tile. CTA k of them adds up columns [k, k + 1) * kColumns.
class ClusterSums {
 public:
  static constexpr int kColumns = part_columns(kP);

  __device__ ClusterSums(const Buffers& buffers, const ClusterPlace& place, int group, int thread)
      : at_(reinterpret_cast<float*>(buffers.left) + 4 * holder(group, thread)),
        brought_(buffers.brought),
        place_(place) {}

  // Brings the columns of CTA `to` there. All of the cluster's stages are free.
  template <int TO>
  __device__ void bring(const Sums& sums) const {
    if (TO == place_.k) return;
    const int rank = (TO * kP.CLUSTER_M + place_.row) * kP.CLUSTER_N + place_.col;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int q = 0; q < kColumns / 8; ++q) {
        const float* const x = &sums[i][TO * kColumns / 2 + 4 * q];
        store_at_peer(place_of(place_.k, TO, i, q), brought_, rank, x[0], x[1], x[2], x[3]);
      }
    }
  }

  // Adds what the others brought to the columns of this CTA, k = OF, in the order of k; without
  // K_SHARES beginning with its own.
  template <int OF>
  __device__ void add_up(Sums& sums) const {
    wait(brought_, 0);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int q = 0; q < kColumns / 8; ++q) {
        float* const own = &sums[i][OF * kColumns / 2 + 4 * q];
        const auto share = [&](int from) {
          if (from == OF) return float4{own[0], own[1], own[2], own[3]};
          return *reinterpret_cast<const float4*>(place_of(from, OF, i, q));
        };
        constexpr int kFirst = kP.K_SHARES != 0 ? 0 : OF;
        float4 total = share(kFirst);
#pragma unroll
        for (int from = 0; from < kP.SPLIT_K; ++from) {
          if (from == kFirst) continue;
          const float4 x = share(from);
          total.x += x.x;
          total.y += x.y;
          total.z += x.z;
          total.w += x.w;
        }
        own[0] = total.x;
        own[1] = total.y;
        own[2] = total.z;
        own[3] = total.w;
      }
    }
  }

 private:
  __device__ float* place_of(int from, int to, int i, int q) const {
    const int slot = from < to ? from : from - 1;
    return at_ + ((slot * kBlocks + i) * (kColumns / 8) + q) * 4 * kHolders;
  }

  float* const at_;
  Barrier* const brought_;
  const ClusterPlace& place_;
};

}  // namespace gemm_tune::wgmma
