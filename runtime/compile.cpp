// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

#include "core/candidate/compile_options.h"
#include "core/text/fnv1a.h"

namespace gemm_tune {

std::string kernel_name(const KnownConfig& config, const CallForm& form) {
  std::string name = to_string(config.config());
  if (form.c == COperand::separate) name += " with a separate C";
  if (!form.epilogue.is_none()) name += " with epilogue " + to_string(form.epilogue);
  return name;
}

std::string kernel_key(const KernelSource& source, const KnownConfig& config, const CallForm& form,
                       const std::string& arch) {
  const std::string target = compile_target(config, arch);
  Fnv1a hash;
  hash.add(source.text);
  for (const auto& [path, text] : source.headers) {
    hash.add(path);
    hash.add(text);
  }
  for (const std::string& definition : compile_definitions(config, form)) hash.add(definition);
  for (const char* option : kCodeOptions) hash.add(option);
  hash.add(target);
  return hash.hex() + " " + kernel_name(config, form) + " " + target;
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
