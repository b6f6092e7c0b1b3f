// SPDX-License-Identifier: Apache-2.0
// The main loop of a SIMT GEMM, one ingredient at a time. It shows the FFMA rate of a thread tile
// of TM x TN with no other work, with fragments in registers, with fragments read from shared
// memory, with the next slice stored there, and with that slice fetched through L2.
//
// Nothing here is a GEMM: slices are packed so that every access is ideal (coalesced, free of bank
// conflicts), and there are no edges and no epilogue. The difference between a real kernel and the
// last step is therefore the kernel's own loss, and the difference between two steps is the price
// of an ingredient. The host reads this file for the sizes, NVRTC for the kernel.
#pragma once

namespace gemm_tune::ceiling {

enum Step {
  kChains,     // independent FFMAs on two values: the peak
  kRegisters,  // outer products of two alternating pairs of fragments in registers
  kLds,        // + fragments from shared memory, one k step ahead; a barrier per slice
  kSts,        // + the next slice stored to shared memory, always the same values
  kLdg,        // + these values loaded from global memory (L2) a slice earlier
  kCpAsync,    // kLds + the slice after the next by cp.async from L2, three slices in all
};

// In which order the TM x TN FFMAs of a k step are written. The compiler may change it.
enum Order { kRows, kColumns, kSerpentine, kBlocks2, kBlocks4 };

struct Params {
  int STEP, ORDER, TM, TN;
  int LANES_M;  // of the 32 lanes of a warp, along M; the others lie along N
  int THREADS;  // 128 or 256: four or eight warps
  int CTAS;     // CTAs per SM that the kernel is compiled for and runs with
  int BK;       // k steps per slice; even
  int A_VEC;    // elements per shared-memory store of A: 4, or 1 as where A is transposed
};

struct Cell {
  int i, j;
};

constexpr int lanes_n(const Params& p) { return 32 / p.LANES_M; }
constexpr int warp_m(const Params& p) { return p.LANES_M * p.TM; }
constexpr int warp_n(const Params& p) { return lanes_n(p) * p.TN; }
// 2 x 2 warps, or 4 along the side where the warp tile is shorter.
constexpr int warps_m(const Params& p) { return p.THREADS == 128 || warp_m(p) > warp_n(p) ? 2 : 4; }
constexpr int warps_n(const Params& p) { return p.THREADS / 32 / warps_m(p); }
constexpr int tile_m(const Params& p) { return warps_m(p) * warp_m(p); }
constexpr int tile_n(const Params& p) { return warps_n(p) * warp_n(p); }
constexpr int slice_floats(const Params& p) { return p.BK * (tile_m(p) + tile_n(p)); }
constexpr int stages(const Params& p) { return p.STEP == kCpAsync ? 3 : 2; }
constexpr int smem_bytes(const Params& p) {
  return p.STEP < kLds ? 0 : stages(p) * slice_floats(p) * 4;
}

// What is fetched comes from so many sequences of so many slices: together they lie in L2, and as
// in a GEMM several CTAs read the same.
constexpr int kSequences = 16;
constexpr int kSlices = 16;
constexpr int data_floats(const Params& p) { return kSequences * kSlices * slice_floats(p); }

// Which output the n-th FFMA of a k step adds to.
constexpr Cell cell(const Params& p, int n) {
  switch (p.ORDER) {
    case kColumns:
      return {n % p.TM, n / p.TM};
    case kSerpentine: {
      const int i = n / p.TN, j = n % p.TN;
      return {i, i % 2 == 0 ? j : p.TN - 1 - j};
    }
    case kBlocks2:
    case kBlocks4: {
      const int side = p.ORDER == kBlocks2 ? 2 : 4;
      const int block = n / (side * side), in_block = n % (side * side);
      const int row = in_block / side, col = in_block % side;
      const int blocks_n = p.TN / side;
      return {block / blocks_n * side + row,
              block % blocks_n * side + (row % 2 == 0 ? col : side - 1 - col)};
    }
    default:
      return {n / p.TN, n % p.TN};
  }
}

}  // namespace gemm_tune::ceiling

#ifdef CEILING_PARAMS

namespace gemm_tune::ceiling {

constexpr Params kP = CEILING_PARAMS;
constexpr int kTileM = tile_m(kP);
constexpr int kTileN = tile_n(kP);
constexpr int kSliceFloats = slice_floats(kP);
static_assert(kP.TM % 4 == 0 && kP.TN % 4 == 0 && kP.BK % 4 == 0);
static_assert(kP.STEP != kCpAsync || kP.A_VEC == 4, "cp.async cannot transpose by vectors");

struct Sums {
  float x[kP.TM][kP.TN];
};

struct Fragments {
  float a[kP.TM], b[kP.TN];
};

__device__ inline void multiply(Sums& sums, const Fragments& f) {
#pragma unroll
  for (int n = 0; n < kP.TM * kP.TN; ++n) {
    const Cell at = cell(kP, n);
    // By name: products of fragments that stay would be moved out of the loop, leaving additions.
    float& sum = sums.x[at.i][at.j];
    sum = fmaf(f.a[at.i], f.b[at.j], sum);
  }
}

// A lane's T elements of one k step: groups of four, dealt out over the lanes, so that the vectors
// that a warp loads at once are neighbours.
template <int T, int LANES>
__device__ inline void load_fragment(float (&fragment)[T], const float* row, int lane) {
#pragma unroll
  for (int g = 0; g < T; g += 4) {
    const float4 v = *reinterpret_cast<const float4*>(row + (g / 4 * LANES + lane) * 4);
    fragment[g] = v.x;
    fragment[g + 1] = v.y;
    fragment[g + 2] = v.z;
    fragment[g + 3] = v.w;
  }
}

// Where a thread reads in a slice: [BK][kTileM] of A, then [BK][kTileN] of B.
struct Place {
  int a, b, lane_m, lane_n;

  __device__ Place() {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    lane_m = lane / lanes_n(kP);
    lane_n = lane % lanes_n(kP);
    a = warp / warps_n(kP) * warp_m(kP);
    b = kP.BK * kTileM + warp % warps_n(kP) * warp_n(kP);
  }

  __device__ void load(Fragments& f, const float* slice, int k) const {
    load_fragment<kP.TM, kP.LANES_M>(f.a, slice + a + k * kTileM, lane_m);
    load_fragment<kP.TN, lanes_n(kP)>(f.b, slice + b + k * kTileN, lane_n);
  }
};

// A thread's vectors of COUNT that all threads of the CTA move together.
template <int COUNT>
struct Share {
  static constexpr int kPasses = (COUNT + kP.THREADS - 1) / kP.THREADS;
  float4 x[kPasses];

  static __device__ int index(int pass) {
    return pass * kP.THREADS + static_cast<int>(threadIdx.x);
  }
  static __device__ bool is_surplus(int pass) {
    return COUNT % kP.THREADS != 0 && index(pass) >= COUNT;
  }

  __device__ void load(const float4* source) {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (!is_surplus(pass)) x[pass] = source[index(pass)];
    }
  }
  __device__ void store(float* target) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (!is_surplus(pass)) reinterpret_cast<float4*>(target)[index(pass)] = x[pass];
    }
  }
  // Each vector as four rows of one column; neighbouring lanes have neighbouring columns.
  __device__ void store_transposed(float* target, int columns) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (is_surplus(pass)) continue;
      float* const to = target + index(pass) / columns * 4 * columns + index(pass) % columns;
      to[0] = x[pass].x;
      to[columns] = x[pass].y;
      to[2 * columns] = x[pass].z;
      to[3 * columns] = x[pass].w;
    }
  }
  static __device__ void copy_async(float* target, const float4* source) {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (is_surplus(pass)) continue;
      const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(target + 4 * index(pass)));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(source + index(pass))
                   : "memory");
    }
  }
};

struct SliceShare {
  static constexpr int kVectorsA = kP.BK * kTileM / 4, kVectorsB = kP.BK * kTileN / 4;
  Share<kVectorsA> a;
  Share<kVectorsB> b;

  __device__ void load(const float* source) {
    const float4* const vectors = reinterpret_cast<const float4*>(source);
    a.load(vectors);
    b.load(vectors + kVectorsA);
  }
  __device__ void store(float* slice) const {
    if constexpr (kP.A_VEC == 4) {
      a.store(slice);
    } else {
      a.store_transposed(slice, kTileM);
    }
    b.store(slice + kP.BK * kTileM);
  }
  static __device__ void copy_async(float* slice, const float* source) {
    const float4* const vectors = reinterpret_cast<const float4*>(source);
    Share<kVectorsA>::copy_async(slice, vectors);
    Share<kVectorsB>::copy_async(slice + kP.BK * kTileM, vectors + kVectorsA);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // All but the newest slice have arrived.
  static __device__ void wait() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
};

__device__ inline void chains(Sums& sums, const float* data, int slices) {
  const float x = data[threadIdx.x], y = data[kP.THREADS + threadIdx.x];
  for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
    for (int k = 0; k < kP.BK; ++k) {
#pragma unroll
      for (int n = 0; n < kP.TM * kP.TN; ++n) {
        float& sum = sums.x[n / kP.TN][n % kP.TN];
        sum = fmaf(sum, x, y);
      }
    }
  }
}

__device__ inline void in_registers(Sums& sums, const float* data, int slices) {
  Fragments f[2];
  const Place place;
  place.load(f[0], data, 0);
  place.load(f[1], data, 1);
  for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
    for (int k = 0; k < kP.BK; ++k) multiply(sums, f[k % 2]);
  }
}

__device__ inline void through_shared_memory(Sums& sums, const float* data, int slices) {
  extern __shared__ float4 dynamic_smem[];
  float* const smem = reinterpret_cast<float*>(dynamic_smem);
  const float* const sequence = data + blockIdx.x % kSequences * kSlices * kSliceFloats;
  const auto source = [&](int slice) { return sequence + slice % kSlices * kSliceFloats; };
  const auto after = [](int stage) { return stage + 1 == stages(kP) ? 0 : stage + 1; };
  const Place place;
  SliceShare share;
  for (int stage = 0; stage < 2; ++stage) {
    if constexpr (kP.STEP == kCpAsync) {
      SliceShare::copy_async(smem + stage * kSliceFloats, source(stage));
    } else {
      share.load(source(stage));
      share.store(smem + stage * kSliceFloats);
    }
  }
  if constexpr (kP.STEP == kCpAsync) SliceShare::wait();
  __syncthreads();

  Fragments f[2];
  place.load(f[0], smem, 0);
  int stage = 0;
  for (int slice = 0; slice < slices; ++slice) {
    const int next = after(stage);
    if constexpr (kP.STEP == kLdg) share.load(source(slice + 1));
    // What this overwrites was read before the last barrier.
    if constexpr (kP.STEP == kCpAsync) {
      SliceShare::copy_async(smem + after(next) * kSliceFloats, source(slice + 2));
    }
#pragma unroll
    for (int k = 0; k < kP.BK; ++k) {
      if (k + 1 < kP.BK) {
        place.load(f[(k + 1) % 2], smem + stage * kSliceFloats, k + 1);
      } else {
        if constexpr (kP.STEP == kSts || kP.STEP == kLdg) share.store(smem + next * kSliceFloats);
        if constexpr (kP.STEP == kCpAsync) SliceShare::wait();
        __syncthreads();
        place.load(f[0], smem + next * kSliceFloats, 0);
      }
      multiply(sums, f[k % 2]);
    }
    stage = next;
  }
  if constexpr (kP.STEP == kCpAsync) asm volatile("cp.async.wait_all;" ::: "memory");
}

// data: data_floats(kP) of them. out: one sum for each thread of the grid; with ones for data, and
// as long as that is exact, TM * TN * BK * slices.
extern "C" __global__ void __launch_bounds__(kP.THREADS, kP.CTAS)
    ceiling(const float* data, float* out, int slices) {
  Sums sums = {};
  if constexpr (kP.STEP == kChains) {
    chains(sums, data, slices);
  } else if constexpr (kP.STEP == kRegisters) {
    in_registers(sums, data, slices);
  } else {
    through_shared_memory(sums, data, slices);
  }
  float total = 0;
#pragma unroll
  for (int n = 0; n < kP.TM * kP.TN; ++n) total += sums.x[n / kP.TN][n % kP.TN];
  out[blockIdx.x * kP.THREADS + threadIdx.x] = total;
}

}  // namespace gemm_tune::ceiling

#endif
