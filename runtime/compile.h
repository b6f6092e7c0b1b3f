// SPDX-License-Identifier: Apache-2.0
// From a config to machine code, and the name under which that is kept: one way for the tuner's
// workers and for the library, so that either uses what the other has compiled.
//
// source: the text of the config's family. form: of the calls that the kernel serves. arch: that of
// the GPU, "sm_86"; compile_target() says what the kernel is compiled for, and throws. Needs no
// GPU. Any thread.
#pragma once

#include <optional>
#include <string>

#include "core/problem/gemm_call.h"
#include "gpu/compile/nvrtc.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/kernel_store.h"

namespace gemm_tune {

// A hash over all that the cubin depends on but the compiler: the text with its headers, the
// definitions, the compile options and the target; behind it, in words, the config, the form of the
// call and the target. So two keys are only taken for each other where two texts of one config have
// one 64-bit hash: there are a few texts of a config, not billions. Needs no NVRTC, so that a
// kernel that is kept is found where there is none.
std::string kernel_key(const KernelSource& source, const KnownConfig& config, const CallForm& form,
                       const std::string& arch);

// A compiler's product as a KernelStore keeps it.
struct KeptKernel {
  std::string nvrtc_version;  // "13.0"
  std::string bytes;
};

// key: of kernel_key(), or one that begins so. nullopt where the store has nothing usable.
std::optional<KeptKernel> load_kernel(const KernelStore& store, const std::string& key);

// As KernelStore::store().
bool store_kernel(const KernelStore& store, const std::string& key, const KeptKernel& kernel);

// Throws DeviceError where NVRTC is unusable or does not support arch.
CompileResult compile_kernel(const KernelSource& source, const KnownConfig& config,
                             const CallForm& form, const std::string& arch);

// The config as messages name it: its text, and the form of the call where that is unusual.
std::string kernel_name(const KnownConfig& config, const CallForm& form);

}  // namespace gemm_tune
