// SPDX-License-Identifier: Apache-2.0
#include "cli/help/shell_completion.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <set>

#include "cli/help/command_tree.h"

namespace gemm_tune {
namespace {

// The path without its last word, and the last word: {"db", "info"}, {"", "best"}.
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t blank = path.find(' ');
  if (blank == path.npos) return {"", path};
  return {path.substr(0, blank), path.substr(blank + 1)};
}

// The pattern of a word behind a command, in a case of bash and zsh.
std::string pattern(const std::string& command, const std::string& word) {
  return fmt::format("'{} {}'", command, word);
}

// Lines of a case that sets `command` at each word that names one.
std::string command_patterns(const std::vector<CommandText>& all) {
  std::vector<std::string> patterns;
  for (const CommandText& one : all) {
    const auto [outer, word] = split(one.path);
    if (!one.path.empty()) patterns.push_back(pattern(outer, word));
  }
  return fmt::format("{}", fmt::join(patterns, " | "));
}

std::string bash(const std::vector<CommandText>& all) {
  std::set<std::string> with_value;
  std::string values, words;
  for (const CommandText& command : all) {
    std::vector<std::string> offered = command.commands;
    for (const OptionText& option : command.options) {
      if (option.is_positional) {
        offered.insert(offered.end(), option.values.begin(), option.values.end());
        continue;
      }
      offered.push_back(option.names.back());
      if (option.value.empty()) continue;
      with_value.insert(option.names.begin(), option.names.end());
      if (option.values.empty()) continue;
      values += fmt::format("    {}) words='{}' ;;\n", pattern(command.path, option.names.back()),
                            fmt::join(option.values, " "));
    }
    offered.push_back("--help");
    offered.push_back("--help-all");
    words += fmt::format("    '{}') words='{}' ;;\n", command.path, fmt::join(offered, " "));
  }
  return fmt::format(R"(# Written by 'gemm-tune completion bash'.
_gemm_tune() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' words='' i
  # "=" is a word of its own there.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  COMPREPLY=() # what is left empty is completed by names of files
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      --) return ;;
      {value_options})
        [[ ${{COMP_WORDS[i + 1]}} != = ]] || ((++i))
        ((++i))
        continue
        ;;
    esac
    case "$command ${{COMP_WORDS[i]}}" in
      {commands})
        command=${{command:+$command }}${{COMP_WORDS[i]}}
        ;;
    esac
  done
  case "$command $before" in
{values}    *)
      case $before in
        {value_options}) return ;;
      esac
      ;;
  esac
  [[ $words ]] || case $command in
{words}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _gemm_tune gemm-tune
)",
                     fmt::arg("value_options", fmt::join(with_value, " | ")),
                     fmt::arg("commands", command_patterns(all)), fmt::arg("values", values),
                     fmt::arg("words", words));
}

// In single quotes, with what the shell's own format reads as more than a letter escaped.
std::string quoted(const std::string& text, std::string_view special, std::string_view quote) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != special.npos) escaped += '\\';
    if (c == '\'') {
      escaped += quote;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string zsh_text(const std::string& text) { return quoted(text, "[]:\\", "'\\''"); }

std::string zsh_option(const OptionText& option) {
  const std::string action =
      option.values.empty() ? "_files" : fmt::format("({})", fmt::join(option.values, " "));
  if (option.is_positional) return fmt::format(" '*:{}:{}'", option.names.back(), action);
  std::string specs;
  for (const std::string& name : option.names) {
    const std::string value =
        option.value.empty() ? "" : ":" + zsh_text(option.value) + ":" + action;
    // A long option's value may also stand behind "=".
    const std::string_view joined = !option.value.empty() && name.starts_with("--") ? "=" : "";
    specs += fmt::format(" \\\n        '*{}{}[{}]{}'", name, joined, zsh_text(option.description),
                         value);
  }
  return specs;
}

std::string zsh(const std::vector<CommandText>& all) {
  std::string cases;
  for (const CommandText& command : all) {
    std::string specs, positional = " '*:file:_files'";
    for (const OptionText& option : command.options) {
      if (option.is_positional) {
        positional = zsh_option(option);
      } else {
        specs += zsh_option(option);
      }
    }
    if (!command.commands.empty()) {
      positional = fmt::format(" '*:command:({})'", fmt::join(command.commands, " "));
    }
    cases += fmt::format(
        "    '{}')\n      _arguments '--help[Print the most used options]' '--help-all[Print all "
        "options]'{}{}\n      ;;\n",
        command.path, positional, specs);
  }
  return fmt::format(R"(#compdef gemm-tune
# Written by 'gemm-tune completion zsh'.
_gemm_tune() {{
  local command='' word
  for word in ${{words[2,CURRENT-1]}}; do
    case "$command $word" in
      {commands})
        command=${{command:+$command }}$word
        ;;
    esac
  done
  case $command in
{cases}  esac
}}
if [[ $funcstack[1] == _gemm-tune ]]; then
  _gemm_tune "$@"
else
  compdef _gemm_tune gemm-tune
fi
)",
                     fmt::arg("commands", command_patterns(all)), fmt::arg("cases", cases));
}

std::string fish(const std::vector<CommandText>& all) {
  const auto text = [](const std::string& plain) { return quoted(plain, "\\", "\\'"); };
  std::string script =
      "# Written by 'gemm-tune completion fish'.\n"
      "complete -c gemm-tune -s h -l help -d 'Print the most used options'\n"
      "complete -c gemm-tune -l help-all -d 'Print all options'\n";
  for (const CommandText& command : all) {
    const auto [outer, word] = split(command.path);
    std::string condition = "__fish_use_subcommand";
    if (!command.path.empty()) {
      const bool is_outer = outer.empty();  // no files beside these; commands of db may take some
      script +=
          fmt::format("complete -c gemm-tune{} -n '{}' -a {} -d '{}'\n", is_outer ? " -f" : "",
                      is_outer ? condition : "__fish_seen_subcommand_from " + outer, word,
                      text(command.description));
      condition = "__fish_seen_subcommand_from " + word;
      if (!outer.empty()) condition += "; and __fish_seen_subcommand_from " + outer;
    }
    for (const OptionText& option : command.options) {
      const std::string values =
          option.values.empty() ? "" : fmt::format(" -a '{}'", fmt::join(option.values, " "));
      std::string line = fmt::format("complete -c gemm-tune -n '{}'", condition);
      if (option.is_positional && values.empty()) continue;  // names of files
      if (!option.is_positional) {
        for (const std::string& name : option.names) {
          const bool is_long = name.starts_with("--");
          line += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
        }
        if (!option.value.empty()) line += values.empty() ? " -r" : " -x";
      }
      script += line + values + " -d '" + text(option.description) + "'\n";
    }
  }
  return script;
}

}  // namespace

std::string shell_completion(const CLI::App& app, std::string_view shell) {
  const std::vector<CommandText> all = command_tree(app);
  if (shell == "bash") return bash(all);
  return shell == "zsh" ? zsh(all) : fish(all);
}

}  // namespace gemm_tune
