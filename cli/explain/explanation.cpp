// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/explanation.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "cli/output/standard_output.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kColumns = 80;

}  // namespace

void Explanation::paragraph(const std::string& words, char separator, std::size_t indent) {
  for (const std::string& line : broken_lines(words, separator, kColumns, indent)) {
    text += line + "\n";
  }
}

void Explanation::line(const std::string& name, const std::string& value) {
  paragraph(fmt::format("  {:<{}}{}", name, kNameColumns, value), ' ', kNameColumns + 2);
}

void Explanation::reason(const std::string& name, const std::string& why) {
  line(name, why);
  std::string key = name;
  std::replace(key.begin(), key.end(), ' ', '_');
  json[key] = why;
}

void Explanation::command(const std::string& words) {
  const std::size_t option = words.find(kConfigOption);
  const bool has_config = option != std::string::npos;
  text += "    " + words.substr(0, option) + (has_config ? " \\\n" : "\n");
  if (has_config) paragraph("      " + words.substr(option + 1), ',', 6);
}

void Explanation::config(const std::string& indent, const std::string& name) {
  if (form_of_standard_output().whole_configs) {
    text += indent + name + "\n";
  } else {
    paragraph(indent + name, ',', indent.size() + 2);
  }
}

}  // namespace gemm_tune
