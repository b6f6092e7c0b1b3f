// SPDX-License-Identifier: Apache-2.0
#include "core/candidate/config.h"

#include <charconv>

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {

std::optional<int> Config::get(std::string_view name) const {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string to_string(const Config& config) {
  std::string text = config.family;
  char separator = '/';
  for (const auto& [name, value] : config.params) {
    text += separator;
    text += name;
    text += '=';
    text += std::to_string(value);
    separator = ',';
  }
  return text;
}

Config parse_config(std::string_view text) {
  const auto malformed = [&](std::string_view part) {
    std::string message = "'";
    message.append(excerpt(part)).append("' in config '").append(excerpt(text));
    message += "' is malformed: write family/NAME=VALUE,NAME=VALUE with whole numbers";
    return UsageError(message);
  };
  constexpr std::size_t kLongest = 1000;
  if (text.size() > kLongest) throw malformed(text);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0) throw malformed(text);
  Config config;
  config.family = std::string(text.substr(0, slash));
  std::string_view rest = text.substr(slash + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) throw malformed(pair);
    int value = 0;
    const char* const end = pair.data() + pair.size();
    const auto [stop, error] = std::from_chars(pair.data() + equals + 1, end, value);
    if (error != std::errc() || stop != end) throw malformed(pair);
    const std::string name(pair.substr(0, equals));
    if (config.get(name)) {
      throw UsageError("config '" + excerpt(text) + "' names " + excerpt(name) +
                       " twice: name each parameter once");
    }
    config.params.emplace_back(name, value);
    if (comma == std::string_view::npos) return config;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace gemm_tune
