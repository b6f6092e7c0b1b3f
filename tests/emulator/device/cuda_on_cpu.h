// SPDX-License-Identifier: Apache-2.0
// CUDA C++ for the host compiler: what a kernel text needs to be compiled and run unchanged.
//
// Included ahead of the kernel text by the compiler's command line, with TUNED_PARAMS and
// TUNED_FORM defined. Gives qualifiers no meaning, and built-ins the meaning that the emulator's
// Cta has. It does not check launch bounds: the emulator launches what the recipe says. Built-ins
// that order memory without meeting anybody mean nothing here.
#pragma once

#define GT_EMULATOR

#include <math.h>  // functions of float in the global namespace, as CUDA has them

#include <bit>

#include "core/types/float16.h"
#include "kernel_templates/device/element/element_type.cuh"
#include "tests/emulator/device/cta.h"

#define __global__
#define __noinline__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define GT_CLUSTER

namespace gemm_tune::emulator {

// The CTA of the thread that is running; each kernel object has its own.
static Cta* current = nullptr;

inline int any_of_warp(unsigned members, bool predicate, const char* file, int line) {
  float found = predicate ? 1 : 0;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    found += current->shuffle_xor(members, found, lanes, file, line);
  }
  return found > 0 ? 1 : 0;
}

}  // namespace gemm_tune::emulator

#define threadIdx (::gemm_tune::emulator::current->thread)
#define blockIdx (::gemm_tune::emulator::current->block)
#define blockDim (::gemm_tune::emulator::current->block_dim)
#define gridDim (::gemm_tune::emulator::current->grid_dim)
#define __syncthreads() \
  static_cast<void>(::gemm_tune::emulator::current->barrier(false, __FILE__, __LINE__))
#define __syncthreads_or(predicate) \
  static_cast<int>(::gemm_tune::emulator::current->barrier((predicate) != 0, __FILE__, __LINE__))
#define __shfl_xor_sync(members, value, lane_mask) \
  ::gemm_tune::emulator::current->shuffle_xor((members), (value), (lane_mask), __FILE__, __LINE__)
#define __any_sync(members, predicate) \
  ::gemm_tune::emulator::any_of_warp((members), (predicate), __FILE__, __LINE__)
#define __syncwarp() static_cast<void>(__shfl_xor_sync(0xffffffffu, 0.0f, 0))

struct alignas(8) float2 {
  float x, y;
};

struct alignas(16) float4 {
  float x, y, z, w;
};

struct alignas(8) uint2 {
  unsigned x, y;
};

inline void __threadfence() {}

// CTAs share one host thread.
inline int atomicAdd(int* address, int value) {
  const int old = *address;
  *address = old + value;
  return old;
}

inline unsigned atomicOr(unsigned* address, unsigned value) {
  const unsigned old = *address;
  *address |= value;
  return old;
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
template <class T>
inline T __ldcg(const T* address) {
  return *address;
}

template <class T>
inline T __ldcs(const T* address) {
  return *address;
}

namespace gemm_tune {

// The interface of kernel_templates/device/tile/smem.cuh; poisoned red zones lie between the
// arrays.
inline char* shared_memory() { return emulator::current->take_all_smem(); }

class SharedMemory {
 public:
  float* take(int n) { return emulator::current->take(taken_++, n); }

 private:
  int taken_ = 0;
};

// The interface of kernel_templates/device/copy/async_copy.cuh.
template <int BYTES, int OFFSET = 0>
void copy_async_or_zero(float* smem, const float* global, bool inside) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  emulator::current->copy_async(smem + OFFSET / 4, global, BYTES, inside ? BYTES : 0);
}

template <int BYTES, int OFFSET = 0>
void copy_async_if(float* smem, const float* global, bool is_wanted) {
  if (is_wanted) copy_async_or_zero<BYTES, OFFSET>(smem, global, true);
}

// The interface of kernel_templates/device/copy/byte_copy.cuh.
template <int BYTES>
void copy_async_bytes(void* smem, const void* global, int inside) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  emulator::current->copy_async(smem, global, BYTES, inside);
}

inline void commit_copies() { emulator::current->commit_copies(); }

template <int N>
void wait_copies() {
  emulator::current->wait_copies(N);
}

// The interface of kernel_templates/device/sum/cluster.cuh.
constexpr bool has_its_cluster(int) { return true; }
inline void cluster_arrive() { emulator::current->cluster_arrive(); }
inline void cluster_arrive_stored() { emulator::current->cluster_arrive(); }
inline void cluster_wait(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->cluster_wait(file, line);
}

class PeerSmem {
 public:
  PeerSmem(const float* own, int cta) : at_(emulator::current->peer_smem(own, cta)) {}
  float load(int i) const { return at_[i]; }

 private:
  const float* at_;
};

// The interface of kernel_templates/device/element/element_convert.cuh.
template <int TYPE>
constexpr Float16Format kFormat = TYPE == kTypeBf16 ? kBf16 : kF16;

template <int TYPE>
float element_to_float(Bits16 bits) {
  return to_float(kFormat<TYPE>, bits);
}

template <int TYPE>
Bits16 element_from_float(float value) {
  return from_float(kFormat<TYPE>, value);
}

template <int TYPE>
unsigned pair_from_floats(float2 values) {
  return element_from_float<TYPE>(values.x) |
         static_cast<unsigned>(element_from_float<TYPE>(values.y)) << 16;
}

template <int TYPE>
float2 pair_to_floats(unsigned pair) {
  return {element_to_float<TYPE>(static_cast<Bits16>(pair)),
          element_to_float<TYPE>(static_cast<Bits16>(pair >> 16))};
}

// The interface of kernel_templates/device/element/tf32.cuh.
inline Bits32 rounded_to_tf32(Bits32 x) {
  constexpr unsigned kHalf = 1u << 12, kExponent = 0xffu << 23;
  return (x & kExponent) == kExponent ? x : (x + kHalf) & ~(2 * kHalf - 1);
}

// The interface of kernel_templates/device/tile/named_barrier.cuh.
inline void meet(int id, int threads, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  emulator::current->meet(id, threads, file, line);
}

// The interface of kernel_templates/device/tile/tensor_core.cuh.
template <int TYPE>
constexpr emulator::OperandFormat kOperandFormat = TYPE == kTypeF32    ? emulator::kOperandTf32
                                                   : TYPE == kTypeE4m3 ? emulator::kOperandE4m3
                                                   : TYPE == kTypeF16  ? emulator::kOperandF16
                                                                       : emulator::kOperandBf16;

template <bool TRANSPOSED>
void load_matrices(unsigned (&fragments)[4], const void* row, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  emulator::current->load_matrices(row, 4, TRANSPOSED, fragments, file, line);
}

template <int TYPE>
void mma_k16(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
             const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->multiply_add({kOperandFormat<TYPE>, 16, {a[0], a[1], a[2], a[3]}, {b0, b1}},
                                  sums, file, line);
}

inline void mma_k8(float (&sums)[4], unsigned a0, unsigned a1, unsigned b,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->multiply_add({emulator::kOperandF16, 8, {a0, a1}, {b}}, sums, file, line);
}

inline void multiply_in_f16(unsigned (&sums)[2], emulator::MmaOperands operands, const char* file,
                            int line) {
  operands.sums_in_f16 = true;
  float x[4];
  for (int i = 0; i < 4; ++i) {
    x[i] = to_float(kF16, static_cast<Bits16>(sums[i / 2] >> (16 * (i % 2))));
  }
  emulator::current->multiply_add(operands, x, file, line);
  for (int i = 0; i < 2; ++i) {
    sums[i] = from_float(kF16, x[2 * i]) | static_cast<unsigned>(from_float(kF16, x[2 * i + 1]))
                                               << 16;
  }
}

inline void mma_k16_f16(unsigned (&sums)[2], const unsigned (&a)[4], unsigned b0, unsigned b1,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  multiply_in_f16(sums, {emulator::kOperandF16, 16, {a[0], a[1], a[2], a[3]}, {b0, b1}}, file,
                  line);
}

inline void mma_k8_f16(unsigned (&sums)[2], unsigned a0, unsigned a1, unsigned b,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  multiply_in_f16(sums, {emulator::kOperandF16, 8, {a0, a1}, {b}}, file, line);
}

inline void mma_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->multiply_add({emulator::kOperandTf32, 8, {a[0], a[1], a[2], a[3]}, {b0, b1}},
                                  sums, file, line);
}

}  // namespace gemm_tune

#include "tests/emulator/device/hopper_on_cpu.h"
