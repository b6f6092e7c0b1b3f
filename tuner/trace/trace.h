// SPDX-License-Identifier: Apache-2.0
// The memory accesses of a kernel, counted from the addresses that its PTX computes.
//
// Executes the integer part of the PTX for some CTAs, warp by warp, and looks at the addresses of
// each access of a warp: sectors of global memory, passes through the banks of shared memory.
// Values of matrices are not computed. Lanes that part at a branch go on by the lowest instruction
// first and meet again where they come to the same one. Needs no GPU. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/launch/launch_recipe.h"
#include "kernel_templates/device/call/gemm_args.cuh"
#include "tuner/trace/ptx.h"

namespace gemm_tune::ptx {

enum class Access { global_load, global_store, global_atomic, shared_load, shared_store };

// What an address belongs to.
enum class Memory { a, b, c, d, workspace, bias, shared };

// Where each operand begins: at a multiple of 256 bytes, as cudaMalloc() promises.
std::uintptr_t base_of(Memory memory);

struct AccessCount {
  double requests = 0;       // instructions of a warp with an active lane
  double lanes = 0;          // active in them
  double bytes = 0;          // different ones that the lanes of a request ask for
  double sectors = 0;        // of 32 bytes of global memory, different ones in a request
  double wavefronts = 0;     // passes through the banks of shared memory (kernel_templates/cost.h)
  double conflict_free = 0;  // such passes if no two lanes wanted different words of a bank
  std::map<int, double> requests_by_bytes;  // by the bytes of a lane

  // Means over CTAs or sums of several kinds.
  AccessCount& operator+=(const AccessCount& other);
  AccessCount scaled(double factor) const;
};

struct AccessKey {
  Access access;
  Memory memory;
  bool is_async;  // cp.async, which is one instruction for both memories

  friend auto operator<=>(const AccessKey&, const AccessKey&) = default;
};

using Accesses = std::map<AccessKey, AccessCount>;

// The sum over the keys that `wanted` takes.
template <class Wanted>
AccessCount sum_of(const Accesses& accesses, Wanted wanted) {
  AccessCount sum;
  for (const auto& [key, count] : accesses) {
    if (wanted(key)) sum += count;
  }
  return sum;
}

struct TracedLaunch {
  GemmArgs args;  // in the form of an in-place product: without the members behind `partials`
  Grid grid;
  int threads = 0;  // of a CTA
};

// The accesses of the mean CTA of the launch's first tile: of those whose blockIdx is (0, y, 0).
// Throws Error where more than so many instructions of warps would be executed, or where the kernel
// leaves its shared memory's 32-bit addresses.
Accesses trace(const Kernel& kernel, const TracedLaunch& launch, std::int64_t most_instructions);

}  // namespace gemm_tune::ptx
