// SPDX-License-Identifier: Apache-2.0
// The text of tuner/measure/device_checks.cuh, embedded at build time.
#pragma once

namespace gemm_tune {

extern const char* const kDeviceChecksText;

}  // namespace gemm_tune
