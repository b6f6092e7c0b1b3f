// SPDX-License-Identifier: Apache-2.0
// A kernel with an instruction that sm_90a has and sm_90 has not: one wgmma of 64 x 8 x 16.
//
// No family uses wgmma yet. The kernel shows that such a family compiles for its own target, runs
// on Hopper and is refused elsewhere. All elements of A are args.alpha and all of B are args.beta,
// so that D is 16 alpha beta wherever shared memory's layout puts an element.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {

inline constexpr const char* kWgmmaText = R"cuda(
#include "kernel_templates/device/call/gemm_args.cuh"

using gemm_tune::GemmArgs;

// A matrix of 8 x 8 elements lies in 128 bytes; equal distances between these in both directions.
__device__ unsigned long long descriptor(const void* matrix) {
  const unsigned long long address = __cvta_generic_to_shared(matrix);
  return (address & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32;
}

extern "C" __global__ void __launch_bounds__(128) gemm(const GemmArgs args) {
  __shared__ alignas(128) unsigned short a[64 * 16], b[8 * 16];
  const unsigned short one_a = __float_as_uint(args.alpha) >> 16;  // bf16, cut off
  const unsigned short one_b = __float_as_uint(args.beta) >> 16;
  for (int i = threadIdx.x; i < 64 * 16; i += 128) a[i] = one_a;
  for (int i = threadIdx.x; i < 8 * 16; i += 128) b[i] = one_b;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(descriptor(a)), "l"(descriptor(b)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  for (int i = 0; i < 4; ++i) args.D[threadIdx.x * 4 + i] = d[i];
}
)cuda";

inline KernelFamily wgmma_family() {
  KernelFamily family;
  family.name = "wgmma_probe";
  family.params = {{"N", {8}, "columns", Role::tunable}};
  family.reject = [](Values) { return std::nullopt; };
  family.traits = [](Values) {
    Traits traits;
    traits.threads = 128;
    traits.tile_m = 64;
    traits.tile_n = 8;
    traits.only_sm = 90;
    return traits;
  };
  return family;
}

// The text as kernel_source() reads it from a --kernel-dir. folder: exists and is empty.
inline KernelSource wgmma_source(const KernelFamily& family, const std::filesystem::path& folder) {
  const KernelSource naive = kernel_source(*find_family("naive"));
  const auto write = [&](const std::string& path, std::string_view text) {
    std::filesystem::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << text;
  };
  for (const auto& [path, text] : naive.headers) write(path, text);
  write(family.source_path(), kWgmmaText);
  return kernel_source(family, folder);
}

}  // namespace gemm_tune
