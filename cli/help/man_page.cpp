// SPDX-License-Identifier: Apache-2.0
#include "cli/help/man_page.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/help/command_tree.h"
#include "cli/help/version.h"

namespace gemm_tune {
namespace {

// As roff reads it: a hyphen would become a dash that nobody can search for or paste, and a line
// that begins with a dot or an apostrophe would be a request.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A description ends with a full stop; "PROGRAM ..." has one.
std::string sentence(const std::string& text) {
  return roff(text) + (text.ends_with('.') ? "" : ".");
}

std::string option_entry(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  const std::string value =
      option.value.empty() || option.is_positional ? "" : fmt::format(" \\fI{}\\fR", option.value);
  return fmt::format(".TP\n{}{}\n{}{}.\n", fmt::join(names, ", "), value, roff(option.description),
                     option.is_required ? "; required" : "");
}

// The footer's paragraphs, each "Heading: text", as sections. A heading is a word or two.
std::string footer_sections(const std::string& footer) {
  std::string sections;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (is_heading(line)) {
      const std::size_t colon = line.find(':');
      sections += ".SH " + upper(line.substr(0, colon)) + "\n";
      line.erase(0, colon + 2);
    }
    if (!line.empty()) sections += roff(line) + "\n";
  }
  return sections;
}

// The examples as they are.
std::string example_lines(const std::string& examples) {
  if (examples.empty()) return "";
  return ".PP\n.nf\n" + roff(examples) + ".fi\n";
}

const CommandText& default_command(const std::vector<CommandText>& all) {
  return *std::find_if(all.begin(), all.end(),
                       [](const CommandText& one) { return one.path == "tune"; });
}

bool has_option(const CommandText& command, const OptionText& option) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [&](const OptionText& own) { return own.names == option.names; });
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::vector<CommandText> all = command_tree(app);
  std::string page = fmt::format(
      ".\\\" Written by 'gemm-tune man'.\n.TH GEMM\\-TUNE 1 \"\" \"gemm\\-tune {}\" \"User "
      "Commands\"\n"
      ".SH NAME\ngemm\\-tune \\- find the fastest GEMM kernel for a GPU and matrix sizes\n"
      ".SH SYNOPSIS\n.B gemm\\-tune\n[\\fICOMMAND\\fR] [\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n{}\nThe default command is \\fBtune\\fR: its options may also stand "
      "without "
      "it.\n.SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the most used options of the "
      "program, "
      "behind a command those of the command.\n.TP\n\\fB\\-\\-help\\-all\\fR\nPrint all of them.\n",
      kVersion, roff(all.front().description));
  for (const OptionText& option : all.front().options) {
    if (!has_option(default_command(all), option)) page += option_entry(option);
  }
  page += ".SH COMMANDS\n";
  for (const CommandText& command : all) {
    if (command.path.empty()) continue;
    page += fmt::format(".SS {}\n{}\n", roff(command.path), sentence(command.description));
    for (const OptionText& option : command.options) page += option_entry(option);
    page += example_lines(command.examples);
  }
  return page + footer_sections(app.get_footer()) +
         ".SH SEE ALSO\nThe README, in the documentation of the package.\n";
}

}  // namespace gemm_tune
