// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/list_file.h"

#include <sstream>

#include "core/error.h"
#include "core/files/input_file.h"

namespace gemm_tune {

std::vector<std::string> read_list_file(const std::string& path, const std::string& kind,
                                        const std::string& forms, Comments comments) {
  const std::string name = kind + " file '" + path + "'";
  std::string text = read_text_file(path, kind + " file");
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte-order mark
  std::istringstream file(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const std::string_view content = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) continue;
    lines.emplace_back(comments == Comments::kept ? trimmed(line) : content);
  }
  if (lines.empty()) throw UsageError(name + " holds no " + kind + ": " + forms);
  return lines;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace gemm_tune
