// SPDX-License-Identifier: Apache-2.0
// From a config to machine code, and the name under which that is kept: one way for the tuner's
// workers and for the library, so that either uses what the other has compiled.
//
// source: the text of the config's family. form: of the calls that the kernel serves. arch: that of
// the GPU, "sm_86"; compile_target() says what the kernel is compiled for, and throws. Needs no
// GPU. Any thread.
#pragma once

#include <string>

#include "core/gemm_call.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"

namespace gemm_tune {

// All that the cubin depends on: the text's tokens and the compile options (KernelSource::hash or
// epilogue_hash), the config, the form of the call, the architecture and the version of NVRTC.
// Throws DeviceError where NVRTC is unusable.
std::string kernel_key(const KernelSource& source, const KnownConfig& config, const CallForm& form,
                       const std::string& arch);

// Throws DeviceError where NVRTC is unusable or does not support arch.
CompileResult compile_kernel(const KernelSource& source, const KnownConfig& config,
                             const CallForm& form, const std::string& arch);

// The config as messages name it: its text, and the form of the call where that is unusual.
std::string kernel_name(const KnownConfig& config, const CallForm& form);

}  // namespace gemm_tune
