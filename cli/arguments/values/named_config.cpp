// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/named_config.h"

#include <set>
#include <utility>

#include "cli/arguments/values/list_file.h"
#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {

namespace {

KnownConfig kernel_config(const std::string& text) {
  KnownConfig config = check_config(parse_config(text));
  if (config.family->is_library()) {
    throw UsageError("'" + text + "' is an algorithm of " + config.family->library +
                     ": name a config of a kernel");
  }
  return config;
}

UsageError no_family(const std::string& word) {
  std::string names;
  for (const KernelFamily& family : families()) names += (names.empty() ? "" : ", ") + family.name;
  return UsageError("'" + excerpt(word) + "' is no family of kernels and no config: use one of " +
                    names + ", or write family/NAME=VALUE,NAME=VALUE");
}

}  // namespace

KnownConfig named_config(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return kernel_config(text);
}

NamedConfigs named_configs(const std::vector<std::string>& words) {
  constexpr const char* kForm = "write one on each line, as in family/NAME=16,OTHER=0";
  NamedConfigs named;
  std::set<std::string> seen;
  const auto add = [&](KnownConfig config) {
    if (seen.insert(to_string(config.config())).second) named.configs.push_back(std::move(config));
  };
  for (const std::string& word : words) {
    if (const KernelFamily* family = find_family(word); family && !family->is_library()) {
      if (seen.insert(word).second) named.families.push_back(family);
      continue;
    }
    if (!word.starts_with('@')) {
      if (word.find_first_of("/=,") == word.npos) throw no_family(word);
      add(named_config(word));
      continue;
    }
    for (const std::string& line : read_list_file(word.substr(1), "config", kForm)) {
      add(kernel_config(line));
    }
  }
  if (!named.configs.empty() && !named.families.empty()) {
    throw UsageError("--config names both configs and a family, '" + named.families[0]->name +
                     "': name either");
  }
  return named;
}

}  // namespace gemm_tune
