// SPDX-License-Identifier: Apache-2.0
// How the reduction kernel of a config with REDUCE (device/sum/share_reduce.cuh) is launched. Read
// by NVRTC, the emulator and the host that launches.
#pragma once

namespace gemm_tune {

inline constexpr int kReduceThreads = 128;
// CTAs per SM that leave registers for many loads under way: not told, NVRTC 13.0 takes 32.
inline constexpr int kReduceCtas = 4;
// Sums of one thread of the kernel, neighbours in a row of D, that a thread adds up.
inline constexpr int kReduceSums = 4;

}  // namespace gemm_tune
