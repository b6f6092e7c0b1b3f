// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

namespace gemm_tune {

std::string kernel_name(const KnownConfig& config, COperand c) {
  return to_string(config.config()) + (c == COperand::separate ? " with a separate C" : "");
}

std::string kernel_key(const KernelSource& source, const KnownConfig& config, COperand c,
                       const std::string& arch) {
  return source.hash + " " + kernel_name(config, c) + " " + compile_target(config, arch) +
         " nvrtc " + nvrtc_version();
}

CompileResult compile_kernel(const KernelSource& source, const KnownConfig& config, COperand c,
                             const std::string& arch) {
  return nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(config, c),
                       compile_target(config, arch));
}

}  // namespace gemm_tune
