// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/usage_sentence.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/printable.h"

namespace gemm_tune {
namespace {

// How many letters must be written, left out, replaced or swapped with the next to make one word of
// the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool are_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (are_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// ": perhaps --sizes is meant" for the nearest name, if one is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64, kFarthest = 2;
  if (word.size() > kLongest) return "";
  const std::string* nearest = nullptr;
  std::size_t fewest = kFarthest + 1;
  for (const std::string& name : names) {
    const bool is_start = word.size() > 3 && name.starts_with(word);
    const std::size_t edits = is_start ? 1 : edits_between(word, name);
    if (edits >= fewest || edits * 2 >= word.size()) continue;
    fewest = edits;
    nearest = &name;
  }
  return nearest == nullptr ? "" : fmt::format(": perhaps {} is meant", *nearest);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

std::string unexpected(const CLI::App& app) {
  const CLI::App& command = named_command(app);
  const std::vector<std::string> words = app.remaining(true);
  const std::string named = name_of_command(command);
  if (takes_application(named) && !words.empty() && !words.front().starts_with("-")) {
    return "'" + excerpt(words.front()) + "' stands behind no --: write the program behind it, " +
           "as in gemm-tune " + (named == "capture" ? "capture -o calls.txt" : named) +
           " -- python3 train.py";
  }
  const auto is_option = [](const std::string& word) { return word.starts_with("-"); };
  const auto option = std::find_if(words.begin(), words.end(), is_option);
  if (option != words.end()) {
    std::vector<std::string> names;
    for (const CLI::Option* one : command.get_options()) {
      for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
    }
    const std::string name = option->substr(0, option->find('='));
    const std::string of = &command == &app ? "" : " of '" + named + "'";
    return "'" + excerpt(name) + "' is no option" + of + suggestion(name, names);
  }
  if (words.empty()) return "";
  const std::string& word = words.front();
  if (word.front() >= '0' && word.front() <= '9' && command.get_option_no_throw("--sizes")) {
    return "'" + excerpt(word) + "' stands behind no option: write --sizes " + excerpt(word);
  }
  const std::vector<std::string> names = command_names(app);
  if (&command != &app || names.empty()) {
    return "'" + excerpt(word) + "' is more than '" + named + "' takes: leave it out";
  }
  const std::string near = suggestion(word, names);
  return "'" + excerpt(word) + "' is no command" +
         (near.empty() ? fmt::format(": use one of {}", fmt::join(names, ", ")) : near);
}

// "--sizes is required: name the problems, as in --sizes 1024,4096".
std::string with_example(const std::string& text) {
  const std::map<std::string, std::string> examples = {
      {"--sizes", "name the problems, as in --sizes 1024,4096x512x1024"},
      {"--output", "name what to write, as in -o FILE"},
      {"output", "name it, as in gemm-tune db merge OUT IN..."},
      {"inputs", "name them, as in gemm-tune db merge OUT IN..."},
      {"databases", "name two, as in gemm-tune db diff A B"},
      {"file", "name it, as in gemm-tune db import FILE"},
      {"shell", "name one, as in gemm-tune completion bash"}};
  const auto example = examples.find(text.substr(0, text.find(' ')));
  return example == examples.end() ? text : text + ": " + example->second;
}

}  // namespace

bool takes_application(std::string_view command) {
  return command == "run" || command == "capture" || command == "speed-up";
}

const CLI::App& named_command(const CLI::App& app) {
  const CLI::App* command = &app;
  for (auto named = app.get_subcommands(); !named.empty(); named = command->get_subcommands()) {
    command = named.front();
  }
  return *command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::string name_of_command(const CLI::App& command) {
  const std::string name = full_name(command);
  const std::size_t blank = name.find(' ');
  return blank == name.npos ? "" : name.substr(blank + 1);
}

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (text == "A subcommand is required") {
    const CLI::App& command = named_command(app);
    std::vector<std::string> names = command_names(command);
    const std::string last = names.back();
    names.pop_back();
    return fmt::format("{} needs one of {} and {}", command.get_name(), fmt::join(names, ", "),
                       last);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return with_example(text);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string sentence = unexpected(app);
    return sentence.empty() ? text : sentence;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const std::string option = text.substr(0, text.find(':'));
  if (!option.starts_with('-')) return with_example(option);
  const bool is_missing = text.find("missing") != std::string::npos;
  return option + (is_missing ? " needs a value: write one behind it"
                              : " is given more than once: give it once");
}

}  // namespace gemm_tune
