// SPDX-License-Identifier: Apache-2.0
// A range of k of one tile: brings its slices in, stage by stage, and multiplies them.
#pragma once

#include "kernel_templates/device/call/call_form.cuh"
#include "kernel_templates/device/copy/async_copy.cuh"
#include "kernel_templates/device/tile/raster.cuh"
#include "kernel_templates/warp_tiled/thread_tile.cuh"

namespace gemm_tune::warp_tiled {

constexpr int kStageA = kP.BK * a_ld(kP), kStageB = kP.BK * b_ld(kP);  // floats
// The stages of A and B lie in turn where STEPPED: then one offset, in bytes, leads to both.
constexpr int kStage = (kStageA + kStageB) * 4;
static_assert(!kStepped || (smem_floats(kStageA) == kStageA && smem_floats(kStageB) == kStageB));
// Floats from the first stage of A to the first of B.
constexpr int kFirstOfB = kStepped ? kStageA : smem_floats(kP.STAGES * kStageA);

__device__ inline float* bytes_on(float* p, int bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + bytes);
}

class Segment {
 public:
  __device__ Segment(const KernelArgs& args, TileOrigin origin, KRange k, float* a_smem,
                     float* b_smem, const Place& place)
      : a_copy_(a_along_k(kP) ? stored<kP.TYPE_A>(args.A) + origin.row * args.lda + k.begin
                              : stored<kP.TYPE_A>(args.A) + k.begin * args.lda + origin.row,
                args.lda, args.M - origin.row),
        b_copy_(b_along_k(kP) ? stored<kP.TYPE_B>(args.B) + origin.col * args.ldb + k.begin
                              : stored<kP.TYPE_B>(args.B) + k.begin * args.ldb + origin.col,
                args.ldb, args.N - origin.col),
        a_smem_(a_smem),
        b_smem_(b_smem),
        a_read_(place.k * a_ld(kP) + place.row + place.lane_m * kGroup),
        b_read_(place.k * b_ld(kP) + place.col + place.lane_n * kGroup),
        slices_((k.end - k.begin + kP.BK - 1) / kP.BK),
        to_copy_(slices_) {}

  // K: of the segment.
  __device__ void multiply(Sums& sums, int K) {
    if constexpr (kP.STAGES == 1) {
      multiply_one_stage(sums, K);
    } else {
      start(K);
      if constexpr (kP.FRAGMENTS == 1) {
        multiply_single_fragments(sums);
      } else {
        multiply_double_fragments(sums);
      }
    }
  }

 private:
  // The first slice's way into a stage: a short one if K is ragged.
  __device__ void begin_first_copy(int K) {
    const int k_count = kPredicated && K > 0 ? (K - 1) % kP.BK + 1 : K;
    a_copy_.begin_first(a_smem_, k_count);
    b_copy_.begin_first(b_smem_, k_count);
    --to_copy_;
  }
  // The next slice's way into a stage: what cp.async does not bring waits in registers.
  __device__ void begin_copy() {
    a_copy_.begin(stage_a(write_), to_copy_ > 0);
    b_copy_.begin(stage_b(write_), to_copy_ > 0);
    --to_copy_;
  }
  __device__ void finish_copy() {
    a_copy_.finish(stage_a(write_));
    b_copy_.finish(stage_b(write_));
  }

  // Where a stage of A begins, and one of B. at: its number, or its offset in bytes where STEPPED.
  __device__ float* stage_a(int at) const {
    return kStepped ? bytes_on(a_smem_, at) : a_smem_ + at * kStageA;
  }
  __device__ float* stage_b(int at) const {
    return kStepped ? bytes_on(b_smem_, at) : b_smem_ + at * kStageB;
  }
  // Where STEPPED, the stage that was read before the one to read is the next to be written.
  __device__ void next_write() {
    if constexpr (!kStepped) write_ = write_ + 1 == kP.STAGES ? 0 : write_ + 1;
  }
  __device__ void next_read() {
    if constexpr (kStepped) {
      write_ = read_;
      read_ = read_ == (kP.STAGES - 1) * kStage ? 0 : read_ + kStage;
    } else {
      read_ = read_ + 1 == kP.STAGES ? 0 : read_ + 1;
    }
  }

  static __device__ void commit() {
    if constexpr (kAnyAsync) commit_copies();
  }
  // The next stage to read is whole, for all threads, and the last one read is free.
  static __device__ void synchronise() {
    if constexpr (kAnyAsync) wait_copies<kP.STAGES - 2>();
    __syncthreads();
  }

  // Where a thread's operands of the stage to read begin. Kept while a slice is multiplied, so that
  // every step is a constant away.
  struct Stage {
    const float *a, *b;

    __device__ void load(Fragments& f, int step) const {
      f.load(a + step * a_ld(kP), b + step * b_ld(kP));
    }
  };
  __device__ Stage stage() const {
    if constexpr (kStepped) {
      return {bytes_on(a_smem_ + a_read_, read_), bytes_on(b_smem_ + b_read_, read_)};
    } else {
      return {a_smem_ + (read_ * kStageA + a_read_), b_smem_ + (read_ * kStageB + b_read_)};
    }
  }

  // All stages but one on their way, the first of them there.
  __device__ void start(int K) {
#pragma unroll
    for (int stage = 0; stage < kP.STAGES - 1; ++stage) {
      if (stage == 0) {
        begin_first_copy(K);
      } else {
        begin_copy();
      }
      finish_copy();
      if constexpr (kStepped) {
        write_ += kStage;
      } else {
        next_write();
      }
      commit();
    }
    if constexpr (!kStepped) write_ = kP.STAGES - 1;
    synchronise();
  }

  __device__ void multiply_slice(Sums& sums) const {
    const Stage from = stage();
    Fragments f;
#pragma unroll
    for (int step = 0; step < steps(kP); ++step) {
      from.load(f, step);
      sums.multiply(f);
    }
  }

  __device__ void multiply_one_stage(Sums& sums, int K) {
    begin_first_copy(K);
    for (int slice = 0; slice < slices_; ++slice) {
      __syncthreads();  // the stage is free
      finish_copy();
      __syncthreads();
      begin_copy();
      multiply_slice(sums);
    }
  }

  __device__ void multiply_single_fragments(Sums& sums) {
    for (int slice = 0; slice < slices_; ++slice) {
      begin_copy();
      commit();
      multiply_slice(sums);
      finish_copy();
      next_write();
      next_read();
      synchronise();
    }
  }

  __device__ void multiply_double_fragments(Sums& sums) {
    Fragments f[2];
    Stage from = stage();
    from.load(f[0], 0);
    for (int slice = 0; slice < slices_; ++slice) {
#pragma unroll
      for (int step = 0; step < steps(kP); ++step) {
        Fragments& next = f[(step + 1) % 2];
        if (step + 1 < steps(kP)) {
          from.load(next, step + 1);
        } else {
          // Everything of this slice is in registers: its last multiplications hide the barrier.
          finish_copy();
          next_write();
          next_read();
          synchronise();
          from = stage();
          from.load(next, 0);
        }
        if (step == 0) {
          begin_copy();
          commit();
        }
        sums.multiply(f[step % 2]);
      }
    }
  }

  CopyA a_copy_;
  CopyB b_copy_;
  float* const a_smem_;
  float* const b_smem_;
  const int a_read_, b_read_;  // a thread's first element in a slice
  const int slices_;
  int to_copy_;               // slices that have not set out yet
  int read_ = 0, write_ = 0;  // stages, as stage_a() has them
};

}  // namespace gemm_tune::warp_tiled
