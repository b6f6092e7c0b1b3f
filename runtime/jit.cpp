// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit.h"

#include <utility>

#include "core/error.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/source.h"

namespace gemm_tune {

std::string jit_cubin(const KnownConfig& config, COperand c, const std::string& arch,
                      const CubinCache* cache) {
  const KernelSource source = kernel_source(*config.family);
  const std::string name =
      to_string(config.config()) + (c == COperand::separate ? " with a separate C" : "");
  const std::string key = source.hash + " " + name + " " + arch + " nvrtc " + nvrtc_version();
  if (cache != nullptr) {
    if (auto cached = cache->load(key)) return std::move(*cached);
  }
  const CompileResult result = nvrtc_compile({source.path, source.text, source.headers},
                                             compile_definitions(config, c), arch);
  if (!result.ok) {
    throw DeviceError("the kernel " + name + " does not compile for " + arch + ": " + result.log);
  }
  // A cache that cannot be written costs a later process its compilation, nothing else.
  if (cache != nullptr) cache->store(key, result.cubin);
  return result.cubin;
}

}  // namespace gemm_tune
