// SPDX-License-Identifier: Apache-2.0
// A config as a cubin: from the cache of compiled kernels, else from NVRTC. Needs no GPU.
//
// Any thread.
#pragma once

#include <string>

#include "core/gemm_call.h"
#include "kernel_templates/registry.h"
#include "runtime/cubin_cache.h"

namespace gemm_tune {

// cache may be nullptr; what is compiled is stored there. Throws DeviceError where NVRTC is
// unusable, does not support arch, or refuses the config.
std::string jit_cubin(const KnownConfig& config, COperand c, const std::string& arch,
                      const CubinCache* cache);

}  // namespace gemm_tune
