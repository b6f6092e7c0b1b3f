// SPDX-License-Identifier: Apache-2.0
// All that is known about one config at one problem, as text for people and JSON for programs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gemm_tune {

// Columns of the names and of the values.
inline constexpr std::size_t kNameColumns = 22, kValueColumns = 22;

// The option whose value is a config: quoted, so that it may be broken.
inline constexpr std::string_view kConfigOption = " --config '";

struct Explanation {
  std::string text;
  nlohmann::json json = nlohmann::json::object();  // unknown values have no key
  bool usable = false;                             // there is a kernel to speak of

  void line(const std::string& name, const std::string& value);

  // Words broken at the separator, with so many blanks before further lines.
  void paragraph(const std::string& words, char separator, std::size_t indent);

  // Adds a reason to the text and to the JSON, under the same name.
  void reason(const std::string& name, const std::string& why);

  // A command to be pasted: a config is broken inside its quotes.
  void command(const std::string& words);

  // On a line of its own, whole for programs that read it.
  void config(const std::string& indent, const std::string& name);
};

}  // namespace gemm_tune
