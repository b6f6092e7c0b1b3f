// SPDX-License-Identifier: Apache-2.0
// Element types as kernels know them: the numbers of ElementType (core/types/element_type.h).
//
// Plain constants without any CUDA, for host, NVRTC and emulator. An element is its bit
// pattern; what it is worth only the tensor core and device/element/element_convert.cuh know.
#pragma once

namespace gemm_tune {

constexpr int kTypeF32 = 0, kTypeF16 = 1, kTypeBf16 = 2, kTypeE4m3 = 3;

constexpr int type_bytes(int type) { return type == kTypeF32 ? 4 : type == kTypeE4m3 ? 1 : 2; }

using Bits16 = unsigned short;
using Bits32 = unsigned;

}  // namespace gemm_tune
