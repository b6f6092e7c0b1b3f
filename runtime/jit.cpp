// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit.h"

#include <utility>

#include "core/error.h"

namespace gemm_tune {

std::string jit_cubin(const KnownConfig& config, const CallForm& form, const std::string& arch,
                      const KernelStore* store, const Compiler& compiler) {
  const KernelSource source = kernel_source(*config.family);
  const std::string key = kernel_key(source, config, form, arch);
  if (store != nullptr) {
    // Whichever NVRTC has made it: the search may have timed that very kernel, and this process may
    // have no NVRTC.
    if (auto kept = load_kernel(*store, key)) return std::move(kept->bytes);
  }
  CompileResult result = compiler(source, config, form, arch);
  if (!result.ok) {
    throw DeviceError("the kernel " + kernel_name(config, form) + " does not compile for " + arch +
                      ": " + result.log);
  }
  // A store that cannot be written costs a later process its compilation, nothing else.
  if (store != nullptr) store_kernel(*store, key, {nvrtc_version(), result.cubin});
  return std::move(result.cubin);
}

}  // namespace gemm_tune
