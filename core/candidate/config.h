// SPDX-License-Identifier: Apache-2.0
// One point of a family's space, by name: the text that identifies a kernel everywhere.
//
// "family/NAME=128,OTHER=0" is the database key, the log line, the argument of
// --config, the export and the test name; parse_config(to_string(c)) == c. This file knows the
// syntax only; kernel_templates/registry/registry.h knows which families and parameters exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gemm_tune {

struct Config {
  std::string family;
  std::vector<std::pair<std::string, int>> params;  // in the family's canonical order

  // The parameter's value, or nullopt if the family has no such parameter.
  std::optional<int> get(std::string_view name) const;

  friend bool operator==(const Config&, const Config&) = default;
};

std::string to_string(const Config& config);

// Throws UsageError naming the part that is malformed.
Config parse_config(std::string_view text);

}  // namespace gemm_tune
