// SPDX-License-Identifier: Apache-2.0
// The interfaces of kernel_templates/wgmma/barriers.cuh, tensor_copy.cuh and instruction.cuh for
// the host compiler. What only makes a GPU faster means nothing here.
#pragma once

#include "kernel_templates/wgmma/args.cuh"
#include "tests/emulator/device/cta.h"

namespace gemm_tune::wgmma {

using Barrier = unsigned long long;

using gemm_tune::shared_memory;
inline unsigned smem_address(const void* p) { return emulator::current->smem_address(p); }

inline void init_barrier(Barrier* barrier, int count) {
  emulator::current->init_barrier(barrier, count);
}
inline void publish_barriers() { emulator::current->publish_barriers(); }

inline void arrive_expecting(Barrier* barrier, int bytes) {
  emulator::current->arrive(barrier, emulator::Cta::kOwn, bytes);
}
inline void arrive(Barrier* barrier) { emulator::current->arrive(barrier, emulator::Cta::kOwn, 0); }
inline void arrive_at_peer(Barrier* barrier, int rank) {
  emulator::current->arrive(barrier, rank, 0);
}
inline void wait(Barrier* barrier, int parity, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  emulator::current->wait(barrier, parity, file, line);
}

using gemm_tune::meet;
inline void announce(int id, int threads) { emulator::current->announce(id, threads); }

inline void meet_cluster(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->cluster_arrive();
  emulator::current->cluster_wait(file, line);
}
inline int cluster_rank() { return emulator::current->cluster_rank(); }

inline void store_at_peer(float* to, Barrier* barrier, int rank, float x, float y, float z,
                          float w) {
  emulator::current->store_at_peer(to, barrier, rank, {x, y, z, w});
}

// Lane l exchanges with lane l ^ l, the first one.
inline int uniform(int value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const float offer = static_cast<float>(value);
  const int lane = static_cast<int>(threadIdx.x) % emulator::kWarp;
  return static_cast<int>(emulator::current->shuffle_xor(0xffffffffu, offer, lane, file, line));
}

inline char* kept(char* smem) { return smem; }

inline bool is_elected() { return threadIdx.x % emulator::kWarp == 0; }

inline void allow_next_launch() {}
inline void await_earlier_launch(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->await_earlier_launch(file, line);
}

template <int COUNT>
void give_registers() {}
template <int COUNT>
void take_registers() {}

inline void prefetch(const TensorMap&) {}

}  // namespace gemm_tune::wgmma

#include "kernel_templates/wgmma/tensor_copy.cuh"  // Box

namespace gemm_tune::wgmma {

inline void load_box_for(unsigned short ctas, void* to, const TensorMap& map, Barrier* barrier,
                         Box from, unsigned long long) {
  emulator::current->load_box(ctas, to, &map, barrier, {from.x, from.y, from.batch});
}
inline void load_box(void* to, const TensorMap& map, Barrier* barrier, Box from,
                     unsigned long long hint) {
  load_box_for(static_cast<unsigned short>(1u << cluster_rank()), to, map, barrier, from, hint);
}

inline void store_box(const TensorMap& map, const void* from, Box to) {
  emulator::current->store_box(&map, from, {to.x, to.y, to.batch});
}
inline void commit_stores() { emulator::current->commit_stores(); }
inline void wait_stores_read() { emulator::current->wait_stores_read(); }
inline void publish_to_copies() { emulator::current->publish_to_copies(); }

template <bool TRANSPOSED, int MATRICES>
void store_matrices(void* row, const unsigned (&x)[MATRICES], const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  emulator::current->store_matrices(row, MATRICES, TRANSPOSED, x, file, line);
}

template <int TYPE>
unsigned pack_pair(float low, float high) {
  return element_from_float<TYPE>(low) | static_cast<unsigned>(element_from_float<TYPE>(high))
                                             << 16;
}

inline void begin_multiply() { emulator::current->begin_multiply(); }
inline void commit_multiply() { emulator::current->commit_multiply(); }
template <int N>
void wait_multiplied(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulator::current->wait_multiplied(N, file, line);
}

template <int COUNT>
void settle(float (&)[COUNT]) {}

template <int N>
struct Instruction {
  template <int TYPE, int LEFT_MN, int RIGHT_MN>
  static void multiply(float (&x)[N / 2], unsigned long long left, unsigned long long right,
                       int adds) {
    emulator::current->multiply(
        {kOperandFormat<TYPE>, N, LEFT_MN != 0, RIGHT_MN != 0, adds != 0, left, right}, x);
  }
};

}  // namespace gemm_tune::wgmma
