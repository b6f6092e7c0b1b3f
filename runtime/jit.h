// SPDX-License-Identifier: Apache-2.0
// A config as a cubin: from the store of compiled kernels, else from NVRTC. Needs no GPU.
//
// Any thread.
#pragma once

#include <functional>
#include <string>

#include "runtime/compile.h"
#include "runtime/kernel_store.h"

namespace gemm_tune {

// As compile_kernel().
using Compiler = std::function<CompileResult(const KernelSource& source, const KnownConfig& config,
                                             const CallForm& form, const std::string& arch)>;

// store may be nullptr; what is compiled is put there. compiler: called where the store lacks the
// kernel; NVRTC is not opened where it does not. Throws DeviceError where NVRTC is unusable, does
// not support arch, or refuses the config.
std::string jit_cubin(const KnownConfig& config, const CallForm& form, const std::string& arch,
                      const KernelStore* store, const Compiler& compiler = compile_kernel);

}  // namespace gemm_tune
