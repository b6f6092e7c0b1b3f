// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

namespace gemm_tune {

std::string kernel_name(const KnownConfig& config, const CallForm& form) {
  std::string name = to_string(config.config());
  if (form.c == COperand::separate) name += " with a separate C";
  if (form.epilogue == Epilogue::bias) name += " with a bias";
  if (form.epilogue == Epilogue::bias_relu) name += " with a bias and ReLU";
  return name;
}

std::string kernel_key(const KernelSource& source, const KnownConfig& config, const CallForm& form,
                       const std::string& arch) {
  const bool has_epilogue = form.epilogue != Epilogue::none;
  const std::string later =
      later_definitions(config).empty() ? "" : "+" + later_params_identity(source);
  const std::string repack = config.recipe.repack ? "+" + repack_identity(source) : "";
  return (has_epilogue ? epilogue_identity(source) : source.hash) + later + repack + " " +
         kernel_name(config, form) + " " + compile_target(config, arch);
}

std::optional<KeptKernel> load_kernel(const KernelStore& store, const std::string& key) {
  const std::optional<std::string> kept = store.load(key);
  if (!kept) return std::nullopt;
  const std::size_t line_end = kept->find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  return KeptKernel{kept->substr(0, line_end), kept->substr(line_end + 1)};
}

bool store_kernel(const KernelStore& store, const std::string& key, const KeptKernel& kernel) {
  return store.store(key, kernel.nvrtc_version + "\n" + kernel.bytes);
}

CompileResult compile_kernel(const KernelSource& source, const KnownConfig& config,
                             const CallForm& form, const std::string& arch) {
  return nvrtc_compile({source.path, source.text, source.headers},
                       compile_definitions(config, form), compile_target(config, arch));
}

}  // namespace gemm_tune
