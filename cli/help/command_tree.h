// SPDX-License-Identifier: Apache-2.0
// The commands and options that CLI11 knows, as data for the man page and the shells' completions:
// both are written from the objects that parse the command line. Pure.
#pragma once

#include <string>
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
  std::vector<OptionText> options;    // without --help
  std::vector<std::string> commands;  // last words of the paths of the commands within
};

// The program itself, then every command, each ahead of the commands within it.
std::vector<CommandText> command_tree(const CLI::App& app);

}  // namespace gemm_tune
