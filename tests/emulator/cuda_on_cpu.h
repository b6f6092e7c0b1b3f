// CUDA C++ for the host compiler: what a kernel text needs to be compiled and run unchanged.
//
// Included ahead of the kernel text by the compiler's command line, with GT_EMULATOR and
// TUNED_PARAMS defined. Gives qualifiers no meaning, and built-ins the meaning that the emulator's
// Cta has. It does not check launch bounds: the emulator launches what the recipe says.
#pragma once

#include "tests/emulator/cta.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

namespace gemm_tune::emulator {

// The CTA of the thread that is running; each kernel object has its own.
static Cta* current = nullptr;

}  // namespace gemm_tune::emulator

#define threadIdx (::gemm_tune::emulator::current->thread)
#define blockIdx (::gemm_tune::emulator::current->block)
#define blockDim (::gemm_tune::emulator::current->block_dim)
#define gridDim (::gemm_tune::emulator::current->grid_dim)
#define __syncthreads() ::gemm_tune::emulator::current->barrier(__FILE__, __LINE__)

namespace gemm_tune {

// The interface of kernel_templates/device/smem.cuh; poisoned red zones lie between the arrays.
class SharedMemory {
 public:
  float* take(int n) { return emulator::current->take(taken_++, n); }

 private:
  int taken_ = 0;
};

}  // namespace gemm_tune
