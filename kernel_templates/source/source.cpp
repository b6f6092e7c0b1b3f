// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/source/source.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/device/device_spec.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/fnv1a.h"
#include "core/text/printable.h"
#include "kernel_templates/device/call/epilogue_operands.cuh"
#include "kernel_templates/source/embedded_texts.h"

namespace gemm_tune {
namespace {

constexpr const char* kOfUsersTexts = "user:";

static_assert(static_cast<int>(OperandShape::none) == kNoOperand &&
              static_cast<int>(OperandShape::scalar_f32) == kScalarF32 &&
              static_cast<int>(OperandShape::row_f32) == kRowF32 &&
              static_cast<int>(OperandShape::column_f32) == kColumnF32 &&
              static_cast<int>(OperandShape::row_d) == kRowD &&
              static_cast<int>(OperandShape::column_d) == kColumnD &&
              static_cast<int>(OperandShape::matrix_d) == kMatrixD &&
              static_cast<int>(OperandShape::output_d) == kOutputD);

constexpr std::string_view kEpilogueChain = "kernel_templates/device/call/epilogue_chain.cuh";

bool is_device_text(std::string_view path) {
  return path.starts_with("kernel_templates/") &&
         (path.ends_with(".cuh") || path == "kernel_templates/rules.h");
}

std::string functor_path(const EpilogueFunctor& functor) {
  return std::string("kernel_templates/device/epilogue/") + functor.name + ".cuh";
}

// "BiasColumn" for bias_column.
std::string struct_name(const EpilogueFunctor& functor) {
  std::string name;
  bool begins_word = true;
  for (const char c : std::string_view(functor.name)) {
    if (c != '_') name += begins_word ? static_cast<char>(c - 'a' + 'A') : c;
    begins_word = c == '_';
  }
  return name;
}

// The paths of the kernel texts that a text includes; all that a text of a user's family includes
// in quotation marks.
std::vector<std::string> kernel_includes(const KernelFamily& family, std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> paths;
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at)) {
    const std::size_t before = text.substr(0, at).find_last_not_of(" \t");
    at += kInclude.size();
    if (before != std::string_view::npos && text[before] != '\n') continue;  // in a comment
    const std::string_view path = text.substr(at, text.find_first_of("\"\n", at) - at);
    if (is_device_text(path) || family.is_users()) paths.emplace_back(path);
  }
  return paths;
}

// The embedded texts, or those of a folder, each of which is read once.
class Texts {
 public:
  explicit Texts(const std::optional<std::filesystem::path>& kernel_dir)
      : kernel_dir_(kernel_dir) {}

  const std::string& at(const KernelFamily& family, const std::string& path) {
    const auto own = family.texts.find(own_name(family, path));
    if (own != family.texts.end()) return own->second;
    if (family.is_users() && !is_device_text(path)) throw no_text(family, path);
    if (!kernel_dir_) {
      const auto found = embedded_texts().find(path);
      if (found != embedded_texts().end()) return found->second;
      if (family.is_users()) throw no_text(family, path);
      throw Error("'" + path + "' is not an embedded text");
    }
    const auto known = read_.find(path);
    return known != read_.end() ? known->second : read_.emplace(path, read(path)).first->second;
  }

 private:
  // In the folder of a user's family.
  static std::string own_name(const KernelFamily& family, const std::string& path) {
    return path == family.source_path() ? "kernel.cuh" : path;
  }

  static UsageError no_text(const KernelFamily& family, const std::string& path) {
    return UsageError("the family '" + family.name + "' of family plug-in '" +
                      excerpt(family.plugin) + "' includes \"" + excerpt(path) +
                      "\", which is neither a .cuh file of its folder nor a device header of "
                      "gemm-tune");
  }

  std::string read(const std::string& path) const {
    const std::string file = (*kernel_dir_ / path).string();
    if (!is_utf8(path)) {
      throw UsageError("kernel text '" + file + "' has a name that is not UTF-8: rename it");
    }
    const std::string needed = "; the kernel directory must hold " + path;
    try {
      std::string text = read_text_file(file, "kernel text");
      if (text.empty()) throw UsageError("kernel text '" + file + "' is empty");
      return text;
    } catch (const UsageError& error) {
      throw UsageError(error.what() + needed);
    }
  }

  const std::optional<std::filesystem::path>& kernel_dir_;
  std::map<std::string, std::string> read_;
};

KernelSource source_of(const KernelFamily& family, Texts& texts) {
  KernelSource source;
  source.path = family.source_path();
  source.text = texts.at(family, source.path);
  std::map<std::string, std::string> headers;
  std::vector<std::string> wanted = kernel_includes(family, source.text);
  while (!wanted.empty()) {
    const std::string path = wanted.back();
    wanted.pop_back();
    if (path == source.path || headers.contains(path)) continue;
    const std::string& text = headers[path] = texts.at(family, path);
    for (std::string& include : kernel_includes(family, text)) wanted.push_back(std::move(include));
    if (path == kEpilogueChain) {  // includes those that TUNED_EPILOGUE_1 and so on name
      for (const EpilogueFunctor& functor : kEpilogueTable) wanted.push_back(functor_path(functor));
    }
  }
  source.headers.assign(headers.begin(), headers.end());
  source.revision = std::to_string(family.revision);
  return source;
}

// 16 hex digits: 64-bit FNV-1a over path, text, the headers' paths and texts, and the revision.
std::string hash_of_texts(const KernelSource& source) {
  Fnv1a hash;
  hash.add(source.path);
  hash.add(source.text);
  hash.add(source.revision);
  for (const auto& [path, text] : source.headers) {
    hash.add(path);
    hash.add(text);
  }
  return hash.hex();
}

// Whether the texts are those that the program has.
bool is_embedded(const KernelSource& source) {
  const auto has = [](const std::string& path, const std::string& text) {
    const auto found = embedded_texts().find(path);
    return found != embedded_texts().end() && found->second == text;
  };
  return has(source.path, source.text) &&
         std::all_of(source.headers.begin(), source.headers.end(),
                     [&](const auto& header) { return has(header.first, header.second); });
}

// With a user's revision where texts are a user's. Of a family of the user's own the number counts,
// too: its plan() is no text.
KernelSource source_in(const KernelFamily& family,
                       const std::optional<std::filesystem::path>& kernel_dir, Texts& texts) {
  KernelSource source = source_of(family, texts);
  if (family.is_users() || (kernel_dir && !is_embedded(source))) {
    source.revision = kOfUsersTexts + hash_of_texts(source);
  }
  return source;
}

}  // namespace

bool is_of_users_texts(std::string_view revision) { return revision.starts_with(kOfUsersTexts); }

KernelSource kernel_source(const KernelFamily& family,
                           const std::optional<std::filesystem::path>& kernel_dir) {
  Texts texts(kernel_dir);
  return source_in(family, kernel_dir, texts);
}

KernelSources kernel_sources(const std::optional<std::filesystem::path>& kernel_dir,
                             const std::vector<Signature>& needed) {
  Texts texts(kernel_dir);
  KernelSources sources;
  for (const KernelFamily& family : families()) {
    const bool is_needed = std::any_of(needed.begin(), needed.end(),
                                       [&](const Signature& one) { return family.supports(one); });
    std::error_code ignored;
    if (!is_needed && kernel_dir && !family.is_users() &&
        !std::filesystem::exists(*kernel_dir / family.source_path(), ignored)) {
      continue;
    }
    sources.emplace(family.name, source_in(family, kernel_dir, texts));
  }
  return sources;
}

std::string tuned_params(const KnownConfig& config) {
  std::string text;
  for (const auto& [name, value] : config.config().params) {
    text += (text.empty() ? "{." : ",.") + name + "=" + std::to_string(value);
  }
  return text + "}";
}

std::string tuned_form(const CallForm& form) {
  return std::string("{.IN_PLACE=") + (form.c == COperand::in_place ? "1" : "0") + "}";
}

std::vector<std::string> epilogue_definitions(const Epilogue& epilogue) {
  std::vector<std::string> definitions;
  std::string functors;
  epilogue.for_each([&](const EpilogueFunctor& functor, int) {
    functors += (functors.empty() ? "" : ",") + struct_name(functor);
    const std::string number = std::to_string(definitions.size() + 1);
    definitions.push_back("TUNED_EPILOGUE_" + number + "=\"" + functor_path(functor) + "\"");
  });
  if (!functors.empty()) definitions.push_back("TUNED_EPILOGUE=" + functors);
  return definitions;
}

std::string compile_target(const KnownConfig& config, const std::string& arch) {
  const int only = config.traits.only_sm;
  if (only == 0) return arch;
  const std::string target = "sm_" + std::to_string(only) + "a";
  if (number_of_arch(arch) == only) return target;
  throw UsageError("the kernel " + to_string(config.config()) + " has instructions of " + target +
                   ", which " + arch + " lacks: use it on sm_" + std::to_string(only) + " only");
}

std::vector<std::string> compile_definitions(const KnownConfig& config, const CallForm& form) {
  std::vector<std::string> definitions = {
      "TUNED_PARAMS=" + tuned_params(config),
      "TUNED_CLUSTER=" + std::to_string(config.recipe.cluster_blocks),
      "TUNED_FORM=" + tuned_form(form)};
  const std::vector<ParamSpec>& params = config.family->params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].adds_kernel && config.values[i] != 0) {
      definitions.push_back("TUNED_" + params[i].name);
    }
  }
  if (config.traits.pack) definitions.emplace_back("TUNED_PACK");
  for (std::string& one : epilogue_definitions(form.epilogue)) {
    definitions.push_back(std::move(one));
  }
  return definitions;
}

}  // namespace gemm_tune
