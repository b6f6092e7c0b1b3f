// SPDX-License-Identifier: Apache-2.0
#include "cli/help/help_text.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/arguments/usage_sentence.h"
#include "cli/help/command_tree.h"
#include "core/text/parse_number.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

// A command with no more options shows all of them.
constexpr std::size_t kFewOptions = 13;
// In the order in which a new user needs them.
constexpr std::string_view kMostUsed[] = {"--sizes", "--from-capture", "--type",   "--layout",
                                          "--batch", "--arch",         "--time",   "--budget",
                                          "--db",    "--quiet",        "--output", "--format"};

// Two columns: what stands left, and its description behind or, where there is no room, below.
std::string entry(const std::string& left, const std::string& description, std::size_t columns) {
  constexpr std::size_t kLeft = 24;
  std::string text = "  " + left;
  if (text.size() + 2 > kLeft) {
    text += "\n";
    text += std::string(kLeft, ' ');
  } else {
    text.resize(kLeft, ' ');
  }
  const std::string indent(kLeft, ' ');
  bool is_first = true;
  for (const std::string& line : broken_lines(description, ' ', columns - kLeft, 0)) {
    text += (is_first ? "" : indent) + line + "\n";
    is_first = false;
  }
  return text;
}

std::string option_entry_text(const OptionText& option, std::size_t columns) {
  std::string left = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.is_positional && !option.value.empty()) left += " " + option.value;
  return entry(left, option.description + (option.is_required ? "; required" : ""), columns);
}

// Where the option stands in kMostUsed; behind all of them where it does not.
std::size_t rank_of(const OptionText& option) {
  const auto found = std::find(std::begin(kMostUsed), std::end(kMostUsed), option.names.back());
  return static_cast<std::size_t>(found - std::begin(kMostUsed));
}

std::vector<OptionText> most_used(const std::vector<OptionText>& all) {
  std::vector<OptionText> few;
  for (const OptionText& option : all) {
    const bool is_most_used = rank_of(option) < std::size(kMostUsed);
    if (is_most_used || option.is_required || option.is_positional) few.push_back(option);
  }
  std::stable_sort(few.begin(), few.end(), [](const OptionText& a, const OptionText& b) {
    return rank_of(a) < rank_of(b);
  });
  return few;
}

// Paragraphs broken to fit, indented lines as they are.
std::string footer_text(const std::string& footer, std::size_t columns) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (paragraph.empty()) return;
    for (const std::string& line : broken_lines(paragraph, ' ', columns, 2)) text += line + "\n";
    paragraph.clear();
  };
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.empty() || line.front() == ' ' || is_heading(line);
    if (begins) end_paragraph();
    if (line.empty() || line.front() == ' ') {
      text += line + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
  return text;
}

}  // namespace

void add_help_flags(CLI::App& app) {
  app.set_help_flag("-h,--help", "Print the most used options, and examples");
  app.set_help_all_flag("--help-all", "Print all options");
}

std::string help_text(const CLI::App& command, bool all, std::size_t columns) {
  const CommandText described = command_tree(command).front();
  const std::string name = full_name(command);
  std::string usage = "Usage: " + name;
  if (!described.commands.empty()) usage += " [COMMAND]";
  usage += " [OPTION]...";
  for (const OptionText& option : described.options) {
    if (option.is_positional) usage += " " + option.names.back();
  }
  if (takes_application(command.get_name())) usage += " -- PROGRAM [ARGUMENT]...";
  std::string text = fitted(described.description + "\n" + usage + "\n", columns, false);

  const bool is_short = !all && described.options.size() > kFewOptions;
  const std::vector<OptionText> shown = is_short ? most_used(described.options) : described.options;
  text += is_short ? "\nThe most used options:\n" : "\nOptions:\n";
  for (const OptionText& option : shown) text += option_entry_text(option, columns);
  if (!is_short) {
    text += entry("-h, --help", command.get_help_ptr()->get_description(), columns);
    text += entry("--help-all", command.get_help_all_ptr()->get_description(), columns);
  }
  const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
  if (!inner.empty()) text += "\nCommands:\n";
  for (const CLI::App* one : inner) {
    text += entry(one->get_name(), one->get_description(), columns);
  }
  std::string footer = command.get_footer();
  if (!all) footer = examples_of(footer);
  if (!footer.empty()) text += "\n" + footer_text(footer, columns);
  if (is_short) {
    text += fitted(fmt::format("\nAll {} options{}: {} --help-all\n", described.options.size(),
                               inner.empty() ? "" : ", the sizes' forms and the exit codes", name),
                   columns, false);
  }
  return text;
}

std::string printed_help(const CLI::App& command, bool all) {
  constexpr std::size_t kLeast = 40, kMost = 100;
  const char* const variable = std::getenv("COLUMNS");
  const auto asked = parse_number<std::size_t>(variable == nullptr ? "" : variable);
  const std::size_t here = isatty(STDOUT_FILENO) != 0 ? terminal_columns(STDOUT_FILENO) : 80;
  return help_text(command, all, std::clamp(asked.value_or(here), kLeast, kMost));
}

}  // namespace gemm_tune
