// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/checks.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/text/parse_number.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

template <class T>
CLI::Validator whole_number_from(T least, T greatest) {
  const std::string range = std::to_string(least) + " to " + std::to_string(greatest);
  const auto refusal = [=](const std::string& text) {
    const std::optional<T> value = parse_number<T>(text);
    const bool good = value && text == std::to_string(*value);
    if (good && *value >= least && *value <= greatest) return std::string();
    return "'" + excerpt(text) + "' is not a whole number from " + range +
           ", written in decimal digits";
  };
  return {refusal, "from " + range};
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t greatest) {
  return whole_number_from(least, greatest);
}

CLI::Validator any_seed() {
  return whole_number_from(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
}

CLI::Validator number(double least, double greatest) {
  const std::string range = fmt::format("{} to {}", least, greatest);
  const auto refusal = [=](const std::string& text) {
    const std::optional<double> value = parse_number<double>(text);
    if (value && *value >= least && *value <= greatest) return std::string();  // never NaN
    return "'" + excerpt(text) + "' is not a number from " + range;
  };
  return {refusal, "from " + range};
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto refusal = [=](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
    return fmt::format("'{}' is none of: {}", excerpt(text), fmt::join(names, ", "));
  };
  return {refusal, fmt::format("one of {}", fmt::join(names, ", "))};
}

void refuse_empty_texts(CLI::App& command) {
  const auto refusal = [](const std::string& text) {
    return text.empty() ? std::string("its value is empty: write one, or leave the option out")
                        : std::string();
  };
  for (CLI::Option* option : command.get_options()) {
    const bool is_flag = option->get_items_expected_max() == 0;
    // A transformation, because transformations run before the option's other checks.
    if (!is_flag) option->transform(CLI::Validator(refusal, ""));
  }
  for (CLI::App* inner : command.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_texts(*inner);
  }
}

}  // namespace gemm_tune
