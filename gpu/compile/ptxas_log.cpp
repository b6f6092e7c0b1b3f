// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile/ptxas_log.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace gemm_tune {
namespace {

// The whole number before `unit` in the line, as in "12 bytes spill stores". At most a billion, so
// that the sum of two fits an int.
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  const auto result = std::from_chars(line.data() + begin, line.data() + at, number);
  if (begin == at || result.ec != std::errc() || number > 1'000'000'000) return std::nullopt;
  return number;
}

// The text from `prefix` to the next quote, blank or line end; nullopt without the prefix.
std::optional<std::string_view> word_after(std::string_view line, std::string_view prefix) {
  const std::size_t at = line.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + prefix.size());
  return rest.substr(0, rest.find_first_of("' \r"));
}

}  // namespace

std::optional<Resources> parse_ptxas_log(std::string_view log, std::string_view entry) {
  // "Compiling entry function 'f'" begins the lines of an entry. "Function properties for g"
  // precedes the stack and spill line of g, which is the entry or a function that it calls. "Used N
  // registers" is about the entry.
  Resources resources;
  bool in_entry = false, in_properties = false, found = false;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    if (const auto name = word_after(line, "Compiling entry function '")) {
      in_entry = *name == entry;
      in_properties = false;
    } else if (const auto function = word_after(line, "Function properties for ")) {
      in_properties = in_entry && *function == entry;
    } else if (const auto stack = number_before(line, " bytes stack frame")) {
      if (!in_properties) continue;
      resources.stack_bytes = *stack;
      resources.spill_bytes = number_before(line, " bytes spill stores").value_or(0) +
                              number_before(line, " bytes spill loads").value_or(0);
    } else if (const auto registers = number_before(line, " registers")) {
      if (!in_entry || line.find("Used ") == std::string_view::npos) continue;
      resources.registers = *registers;
      resources.smem_bytes = number_before(line, " bytes smem").value_or(0);
      found = true;
    }
  }
  return found ? std::optional<Resources>(resources) : std::nullopt;
}

std::optional<std::string_view> serialised_wgmma(std::string_view log) {
  constexpr std::string_view kCodes[] = {"(C7504)", "(C7508)", "(C7510)", "(C7511)",
                                         "(C7512)", "(C7515)", "(C7518)", "(C7520)"};
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find_first_of("\r\n"));
    for (const std::string_view code : kCodes) {
      if (const std::size_t at = line.find(code); at != std::string_view::npos) {
        return line.substr(at);
      }
    }
    log.remove_prefix(std::min(log.size(), line.size() + 1));
  }
  return std::nullopt;
}

}  // namespace gemm_tune
