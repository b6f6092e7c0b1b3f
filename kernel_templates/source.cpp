// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/source.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/compile_options.h"
#include "core/device_spec.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "core/input_file.h"
#include "core/printable.h"
#include "kernel_templates/embedded_texts.h"
#include "kernel_templates/token_text.h"

namespace gemm_tune {
namespace {

bool is_device_text(std::string_view path) {
  return path.starts_with("kernel_templates/") &&
         (path.ends_with(".cuh") || path == "kernel_templates/rules.h");
}

// The paths of the device texts that a text includes.
std::vector<std::string> device_includes(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> paths;
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at)) {
    at += kInclude.size();
    const std::string_view path = text.substr(at, text.find_first_of("\"\n", at) - at);
    if (is_device_text(path)) paths.emplace_back(path);
  }
  return paths;
}

// The embedded texts, or those of a folder, each of which is read once.
class Texts {
 public:
  explicit Texts(const std::optional<std::filesystem::path>& kernel_dir)
      : kernel_dir_(kernel_dir) {}

  const std::string& at(const std::string& path) {
    if (!kernel_dir_) {
      const auto found = embedded_texts().find(path);
      if (found == embedded_texts().end()) throw Error("'" + path + "' is not an embedded text");
      return found->second;
    }
    const auto known = read_.find(path);
    return known != read_.end() ? known->second : read_.emplace(path, read(path)).first->second;
  }

 private:
  std::string read(const std::string& path) const {
    const std::string file = (*kernel_dir_ / path).string();
    if (!is_utf8(path)) {
      throw UsageError("kernel text '" + file + "' has a name that is not UTF-8: rename it");
    }
    const std::string needed = "; the kernel directory must hold " + path;
    try {
      std::string text = read_input_file(file, "kernel text");
      if (text.empty()) throw UsageError("kernel text '" + file + "' is empty");
      return text;
    } catch (const UsageError& error) {
      throw UsageError(error.what() + needed);
    }
  }

  const std::optional<std::filesystem::path>& kernel_dir_;
  std::map<std::string, std::string> read_;
};

const std::string* header_of(const KernelSource& source, std::string_view path) {
  const auto found = std::find_if(source.headers.begin(), source.headers.end(),
                                  [&](const auto& header) { return header.first == path; });
  return found == source.headers.end() ? nullptr : &found->second;
}

std::string tokens_of(const KernelSource& source, TokensWith with) {
  const auto text_of = [&](const std::string& path) { return header_of(source, path); };
  return token_text(source.text, text_of, with);
}

KernelSource source_of(const KernelFamily& family, Texts& texts) {
  KernelSource source;
  source.path = family.source_path();
  source.text = texts.at(source.path);
  std::map<std::string, std::string> headers;
  std::vector<std::string> wanted = device_includes(source.text);
  while (!wanted.empty()) {
    const std::string path = wanted.back();
    wanted.pop_back();
    if (path == source.path || headers.contains(path)) continue;
    const std::string& text = headers[path] = texts.at(path);
    for (std::string& include : device_includes(text)) wanted.push_back(std::move(include));
  }
  source.headers.assign(headers.begin(), headers.end());

  source.tokens = tokens_of(source, {});
  source.hash = identity_of(source.tokens);
  return source;
}

}  // namespace

KernelSource kernel_source(const KernelFamily& family,
                           const std::optional<std::filesystem::path>& kernel_dir) {
  Texts texts(kernel_dir);
  return source_of(family, texts);
}

KernelSources kernel_sources(const std::optional<std::filesystem::path>& kernel_dir,
                             const std::vector<Signature>& needed) {
  Texts texts(kernel_dir);
  KernelSources sources;
  for (const KernelFamily& family : families()) {
    const bool is_needed = std::any_of(needed.begin(), needed.end(),
                                       [&](const Signature& one) { return family.supports(one); });
    std::error_code ignored;
    if (!is_needed && kernel_dir &&
        !std::filesystem::exists(*kernel_dir / family.source_path(), ignored)) {
      continue;
    }
    sources.emplace(family.name, source_of(family, texts));
  }
  return sources;
}

std::string identity_of(std::string_view tokens) {
  Fnv1a hash;
  hash.add(tokens);
  for (const char* option : kCodeOptions) hash.add(option);
  return hash.hex();
}

std::string epilogue_identity(const KernelSource& source) {
  return identity_of(tokens_of(source, {.epilogue = true}));
}

std::string later_params_identity(const KernelSource& source) {
  return identity_of(tokens_of(source, {.epilogue = true, .later_params = true}));
}

std::string repack_identity(const KernelSource& source) {
  const std::string* const text = header_of(source, "kernel_templates/device/repack.cuh");
  return text == nullptr ? "" : identity_of(*text);
}

std::string version_1_hash(const KernelSource& source) {
  Fnv1a hash;
  hash.add(source.path);
  hash.add(source.text);
  for (const auto& [path, text] : source.headers) {
    hash.add(path);
    hash.add(text);
  }
  return hash.hex();
}

std::string tuned_params(const KnownConfig& config) {
  std::string text;
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const ParamSpec& param = config.family->params[i];
    if (param.unless_named) continue;  // no member of the family's Params
    text += (text.empty() ? "{." : ",.") + param.name + "=" + std::to_string(config.values[i]);
  }
  return text + "}";
}

std::string compile_target(const KnownConfig& config, const std::string& arch) {
  const int only = config.traits.only_sm;
  if (only == 0) return arch;
  const std::string target = "sm_" + std::to_string(only) + "a";
  if (number_of_arch(arch) == only) return target;
  throw UsageError("the kernel " + to_string(config.config()) + " has instructions of " + target +
                   ", which " + arch + " lacks: use it on sm_" + std::to_string(only) + " only");
}

std::vector<std::string> later_definitions(const KnownConfig& config) {
  std::vector<std::string> definitions;
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const ParamSpec& param = config.family->params[i];
    if (param.role == Role::repack || !param.unless_named) continue;
    if (config.values[i] == param.unless_named) continue;
    definitions.push_back("TUNED_" + param.name + "=" + std::to_string(config.values[i]));
  }
  return definitions;
}

std::vector<std::string> compile_definitions(const KnownConfig& config, const CallForm& form) {
  std::vector<std::string> definitions = {
      "TUNED_PARAMS=" + tuned_params(config),
      "TUNED_CLUSTER=" + std::to_string(cluster_ctas(config.recipe))};
  if (form.c == COperand::in_place) definitions.emplace_back("TUNED_IN_PLACE");
  if (config.recipe.repack) definitions.emplace_back("TUNED_REPACK");
  for (const std::string& definition : later_definitions(config)) {
    definitions.push_back(definition);
  }
  if (form.epilogue == Epilogue::bias) definitions.emplace_back("TUNED_EPILOGUE=1");
  if (form.epilogue == Epilogue::bias_relu) definitions.emplace_back("TUNED_EPILOGUE=2");
  return definitions;
}

}  // namespace gemm_tune
