// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory, carved into arrays in order.
//
// Arrays are taken from SharedMemory where that is possible, so that the emulator can put poisoned
// red zones between them (it supplies its own).
#pragma once

#ifndef GT_EMULATOR
namespace gemm_tune {

// All of it, of kernels that carve it themselves.
__device__ inline char* shared_memory() {
  extern __shared__ __align__(1024) char smem[];
  return smem;
}

class SharedMemory {
 public:
  // The next n floats, aligned to 16 bytes.
  __device__ float* take(int n) {
    extern __shared__ float4 dynamic_smem[];
    float* array = reinterpret_cast<float*>(dynamic_smem) + taken_;
    taken_ += (n + 3) / 4 * 4;  // smem_floats(n); calling that costs ten registers with NVRTC 13.0
    return array;
  }

 private:
  int taken_ = 0;
};

}  // namespace gemm_tune
#endif
