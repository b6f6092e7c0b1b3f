// SPDX-License-Identifier: Apache-2.0
#include "cli/help/command_tree.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace gemm_tune {
namespace {

// CLI11's "FIRST:LAST:from 1 to 9": a value's name, in capitals, and the words of a check of
// cli/arguments/checks.h, which begin in lower case; empty where there is no check.
std::pair<std::string, std::string> name_and_check(const std::string& type) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto check = std::find_if(type.begin(), type.end(), is_lower);
  if (check == type.end()) return {type, ""};
  return {{type.begin(), check - 1}, {check, type.end()}};
}

// The values that the check one_of() takes.
std::vector<std::string> listed_values(const std::string& check) {
  const std::string_view kMark = "one of ";
  if (!check.starts_with(kMark)) return {};
  std::vector<std::string> values;
  std::istringstream list(check.substr(kMark.size()));
  for (std::string value; std::getline(list >> std::ws, value, ',');) values.push_back(value);
  return values;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.is_positional = text.names.empty();
  if (text.is_positional) text.names.push_back(option.get_name(true));
  text.is_required = option.get_required();
  text.description = option.get_description();
  if (option.get_items_expected_max() == 0) return text;  // a flag
  const auto [name, check] = name_and_check(option.get_type_name());
  text.value = name;
  text.values = listed_values(check);
  if (!check.empty()) text.description += "; " + check;
  if (!option.get_default_str().empty()) {
    text.description += "; default: " + option.get_default_str();
  }
  return text;
}

void add_command(const CLI::App& command, const std::string& path, std::vector<CommandText>& all) {
  const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
  CommandText text{path, command.get_description(), {}, {}, examples_of(command.get_footer())};
  for (const CLI::Option* option : command.get_options()) {
    const bool is_listed = !option->check_lname("help") && !option->check_lname("help-all") &&
                           !option->get_group().empty();
    if (is_listed) text.options.push_back(option_text(*option));
  }
  for (const CLI::App* one : inner) text.commands.push_back(one->get_name());
  all.push_back(std::move(text));
  for (const CLI::App* one : inner) {
    add_command(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), all);
  }
}

}  // namespace

std::string examples_of(const std::string& footer) {
  constexpr std::string_view kBegin = "Examples:\n";
  const std::size_t begin = footer.find(kBegin);
  if (begin == footer.npos) return "";
  const std::size_t end = footer.find("\n\n", begin);
  return footer.substr(begin, end == footer.npos ? end : end + 1 - begin);
}

bool is_heading(std::string_view line) {
  constexpr std::size_t kLongest = 12;
  const std::size_t colon = line.find(':');
  if (line.empty() || line.front() < 'A' || line.front() > 'Z') return false;
  return colon < kLongest && (colon + 1 == line.size() || line[colon + 1] == ' ');
}

std::vector<CommandText> command_tree(const CLI::App& app) {
  std::vector<CommandText> all;
  add_command(app, "", all);
  return all;
}

}  // namespace gemm_tune
