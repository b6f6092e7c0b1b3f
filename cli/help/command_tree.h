// SPDX-License-Identifier: Apache-2.0
// The commands and options that CLI11 knows, as data for the man page and the shells' completions:
// both are written from the objects that parse the command line. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace gemm_tune {

struct OptionText {
  std::vector<std::string> names;   // "-o", "--output", the long one last; of a positional its name
  std::string value;                // "TEXT"; empty: a flag
  std::string description;          // with limits and default
  std::vector<std::string> values;  // all that it takes; empty: more than a list can say
  bool is_positional = false;
  bool is_required = false;
};

struct CommandText {
  std::string path;  // "db info"; empty: the program itself
  std::string description;
  std::vector<OptionText> options;    // without --help and --help-all
  std::vector<std::string> commands;  // last words of the paths of the commands within
  std::string examples;               // lines with an indent; empty: none
};

// The program itself, then every command, each ahead of the commands within it.
std::vector<CommandText> command_tree(const CLI::App& app);

// Of a footer the paragraph that begins with "Examples:"; empty where it has none.
std::string examples_of(const std::string& footer);

// Whether a footer's line begins with a heading: a word or two and a colon.
bool is_heading(std::string_view line);

}  // namespace gemm_tune
