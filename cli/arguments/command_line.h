// SPDX-License-Identifier: Apache-2.0
// The command line of a program of many commands: each command declares its own options and is
// chosen by CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel_templates/registry/user_families.h"

namespace gemm_tune {

// How the program was called, beside the options of the command.
struct Call {
  std::string command_line;  // complete, quoted for a shell: UTF-8 without control bytes
  std::vector<std::string> application;  // behind "--": a program and its arguments
  std::function<int()> run;              // the command that was chosen; returns the exit code
  // The text of --help, or of --help-all, of a command. Set before the command line is parsed.
  std::function<std::string(const CLI::App& command, bool all)> help;
};

// Gives a command's parser its options, and `call` what to run.
using AddCommand = void(CLI::App& app, Call& call);

struct NamedCommand {
  const char* name;
  const char* what;
  AddCommand* add;
  const char* examples;  // lines with an indent, for its help
};

// Adds the command, with examples of its own.
void add_named(CLI::App& app, const NamedCommand& command, Call& call);

// Gives `app` the options that Options::declare() adds: run(options) or run(options, call) is what
// `call` then runs, unless a command within `app` is chosen. `call` must outlive the app. Options
// live as long as the app or the call. Where the options name families of users, these are loaded
// first.
template <class Options, class Run>
void attach(CLI::App& app, Call& call, Run run) {
  const auto options = std::make_shared<Options>();
  options->declare(app);
  app.callback([options, run, &call] {
    if (call.run) return;
    call.run = [&, options, run] {  // and `call`, where the command takes it
      if constexpr (requires { options->families; }) {
        for (const std::string& file : options->families) load_family(file);
      }
      if constexpr (std::is_invocable_v<Run, const Options&, const Call&>) {
        return run(*options, call);
      } else {
        return run(*options);
      }
    };
  });
}

// A text to print instead of running a command: help and version with exit code 0, else an error.
struct Answer {
  int exit_code = 0;
  std::string text;
};

// Parses the words into the options of the commands of `app`, and sets all of `call`. An option
// before a command is treated as if it stood behind it.
std::optional<Answer> parse_command_line(CLI::App& app, Call& call, int argc,
                                         const char* const* argv);

}  // namespace gemm_tune
