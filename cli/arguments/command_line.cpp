// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/command_line.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/arguments/checks.h"
#include "cli/arguments/usage_sentence.h"
#include "cli/output/exit_code.h"
#include "core/text/shell_quote.h"

namespace gemm_tune {
namespace {

using Words = std::vector<std::string>;

// Begins with the program's name, not with the path that started it.
std::string quoted(const Words& words) {
  std::string line = "gemm-tune";
  for (std::size_t i = 1; i < words.size(); ++i) line += " " + shell_quote(words[i]);
  return line;
}

// The first word that is neither an option of the program nor the value of one.
Words::const_iterator find_command(const CLI::App& app, const Words& words) {
  for (auto word = words.begin() + 1; word < words.end(); ++word) {
    if (!word->starts_with('-') || *word == "--") return word;
    const CLI::Option* option = app.get_option_no_throw(*word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++word;
  }
  return words.end();
}

// Takes away the words behind the first "--" of `run`, `capture` and `speed-up`, which are another
// program's: CLI11 would read its options, and lists in its arguments.
Words take_application(const CLI::App& app, Words& words) {
  const auto command = find_command(app, words);
  if (command == words.end() || !takes_application(*command)) return {};
  const auto end = std::find(command, words.cend(), "--");
  if (end == words.end()) return {};
  Words application(end + 1, words.cend());
  words.erase(end, words.cend());
  return application;
}

// A word that goes on with the value of --sizes: "4096", "x", "512]", or "-n" of cuBLAS's notation.
bool continues_sizes(std::string_view word) {
  constexpr std::string_view kFirst = "0123456789,;[]()@*";
  if (word.empty()) return false;
  for (const std::string_view letter : {"m", "n", "k"}) {
    for (const std::string_view dashes : {"-", "--"}) {
      const std::string flag = std::string(dashes) + std::string(letter);
      if (word == flag || word.starts_with(flag + "=")) return true;
    }
  }
  return kFirst.find(word.front()) != kFirst.npos || word == "x" || word == "X" ||
         word == "\u00d7" || word.starts_with("torch.");
}

// Brings all that is the value of --sizes into one word: people paste "4096 4096" without quotes.
void join_sizes(Words& words) {
  const auto sizes = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "--sizes" || word.starts_with("--sizes=");
  });
  if (sizes == words.end()) return;
  const auto first = sizes + 1;
  const bool has_value = *sizes != "--sizes";
  const bool is_option = first != words.end() && first->starts_with("-");
  const auto begin = has_value || is_option || first == words.end() ? first : first + 1;
  const auto end = std::find_if_not(begin, words.end(), continues_sizes);
  if (begin == end) return;
  std::string value = has_value ? sizes->substr(std::string_view("--sizes=").size()) : "";
  for (auto word = first; word != end; ++word) {
    const bool is_behind_file = word != first && word[-1].size() > 1 && word[-1].front() == '@';
    if (!value.empty()) value += is_behind_file ? "," : " ";
    value += *word;
  }
  *sizes = "--sizes=" + value;
  words.erase(first, end);
}

// CLI11 reads "[a,b]" as a list, also where a file has that name.
void protect_bracketed_files(Words& words) {
  for (std::string& word : words) {
    std::error_code ignored;
    const bool is_bracketed = word.starts_with('[') && word.ends_with(']');
    if (is_bracketed && std::filesystem::exists(word, ignored)) word = "./" + word;
  }
}

// Hands the program's own options, read before the command, to the command.
void hand_options_to(CLI::App& command, CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->check_lname("version")) continue;
    CLI::Option* own = command.get_option_no_throw(option->get_name());
    if (own == nullptr) {
      throw CLI::ParseError(option->get_name() + " is no option of '" + name_of_command(command) +
                                "', before which it stands: leave it out",
                            CLI::ExitCodes::ExtrasError);
    }
    own->add_result(option->results());
    option->clear();
  }
}

void hand_down_options(CLI::App& app, CLI::App& from) {
  for (CLI::App* command : from.get_subcommands([](CLI::App*) { return true; })) {
    const bool is_group = !command->get_subcommands([](CLI::App*) { return true; }).empty();
    if (is_group) {
      hand_down_options(app, *command);
    } else {
      command->preparse_callback([command, &app](std::size_t) { hand_options_to(*command, app); });
    }
  }
}

}  // namespace

void add_named(CLI::App& app, const NamedCommand& command, Call& call) {
  CLI::App& added = *app.add_subcommand(command.name, command.what);
  command.add(added, call);
  added.footer(std::string("Examples:\n") + command.examples);
}

std::optional<Answer> parse_command_line(CLI::App& app, Call& call, int argc,
                                         const char* const* argv) {
  Words words(argv, argv + argc);
  call.command_line = quoted(words);
  refuse_empty_texts(app);
  hand_down_options(app, app);
  call.application = take_application(app, words);
  join_sizes(words);
  protect_bracketed_files(words);
  std::vector<const char*> texts;
  for (const std::string& word : words) texts.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(texts.size()), texts.data());
  } catch (const CLI::CallForHelp&) {
    return Answer{kExitOk, call.help(named_command(app), false)};
  } catch (const CLI::CallForAllHelp&) {
    return Answer{kExitOk, call.help(named_command(app), true)};
  } catch (const CLI::CallForVersion& version) {
    return Answer{kExitOk, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return Answer{kExitUsage, usage_sentence(app, error) + "; see " +
                                  full_name(named_command(app)) + " --help"};
  }
  return std::nullopt;
}

}  // namespace gemm_tune
