// SPDX-License-Identifier: Apache-2.0
// The text of tuner/measure/device_checks.cuh and of what it includes, embedded at build time.
#pragma once

#include "gpu/compile/nvrtc.h"

namespace gemm_tune {

extern const char* const kDeviceChecksText;
extern const char* const kElementBitsText;    // of tuner/measure/element_bits.cuh
extern const char* const kErrorBoundText;     // of core/types/error_bound.cuh
extern const char* const kEpilogueCheckText;  // of tuner/measure/epilogue_check.cuh

// What NVRTC compiles.
NvrtcSource device_checks_source();

}  // namespace gemm_tune
