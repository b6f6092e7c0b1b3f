// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gemm_tune::emulator {

// What memory holds while a copy or a product into it is under way, unlike what fills shared memory
// at first: a NaN, and two of them in either 16-bit type.
constexpr std::uint32_t kUnderWay = 0x7fa07fde;

}  // namespace gemm_tune::emulator
