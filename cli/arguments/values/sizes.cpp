// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/values/sizes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "cli/arguments/values/list_file.h"
#include "cli/arguments/values/other_notations.h"
#include "core/error.h"
#include "core/launch/launch_recipe.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

constexpr std::string_view kForms =
    "write 1024 (square), 4096x512x1024 (MxNxK), 512:4096:512 (range) or @file";

constexpr std::string_view kFormsWithoutM = "write 11008x4096 (NxK), 4096 (N and K alike) or @file";

UsageError bad_size(std::string_view item, const std::string& what,
                    std::string_view forms = kForms) {
  return UsageError("size '" + excerpt(item) + "' " + what + ": " + std::string(forms));
}

std::int64_t edge(std::string_view item, std::string_view part, std::int64_t least) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(part);
  if (!value) {
    const bool digits = !part.empty() && part.find_first_not_of("-0123456789") == part.npos;
    throw bad_size(item, digits ? "is too large" : "is not a size");
  }
  // "1,024" is no list of 1 and 24.
  if (part.size() > 1 && part.front() == '0') {
    throw bad_size(item, "has an edge that begins with 0; thousands have no separator");
  }
  if (*value < least) throw bad_size(item, "has an edge below " + std::to_string(least));
  if (*value > kMaxEdge) {
    throw bad_size(item, "has an edge above " + std::to_string(kMaxEdge));
  }
  return *value;
}

class SizeList {
 public:
  explicit SizeList(const ProblemDefaults& defaults) : defaults_(defaults) {}

  const ProblemDefaults& defaults() const { return defaults_; }

  void add(const Problem& problem) {
    if (const auto why = why_unserved(problem)) {
      throw UsageError(to_string(problem) + ": " + *why);
    }
    if (!known_.insert(to_string(problem)).second) return;
    if (problems_.size() == kMaxSizes) {
      throw UsageError("--sizes names more than " + std::to_string(kMaxSizes) +
                       " problems: tune them in several runs");
    }
    problems_.push_back(problem);
  }

  void add_square(std::int64_t n) {
    add(packed_problem(n, n, n, defaults_.layout, defaults_.batch, defaults_.signature));
  }

  std::size_t size() const { return problems_.size(); }
  std::vector<Problem> take() { return std::move(problems_); }

 private:
  ProblemDefaults defaults_;
  std::vector<Problem> problems_;
  std::unordered_set<std::string> known_;  // keys of the problems so far
};

void add_range(std::string_view item, SizeList& list) {
  const std::vector<std::string_view> parts = split(item, ':');
  if (parts.size() != 3) throw bad_size(item, "is not a range");
  const std::int64_t first = edge(item, parts[0], 1);
  const std::int64_t last = edge(item, parts[1], 1);
  const std::int64_t step = edge(item, parts[2], 1);
  if (last < first) throw bad_size(item, "is an empty range");
  for (std::int64_t n = first; n <= last; n += step) list.add_square(n);
}

// text: the item as parse_problem() takes it.
void add_shape(std::string_view item, std::string_view text, SizeList& list) {
  const Problem problem = parse_problem(text, list.defaults());
  if (problem.batch > kMaxBatch) {
    throw bad_size(item, "has a batch above " + std::to_string(kMaxBatch));
  }
  list.add(problem);
}

// An item that is no file.
void add_size(std::string_view item, SizeList& list) {
  const std::string_view shape = item.substr(0, item.find(':'));
  if (shape.find('x') == std::string_view::npos) {
    const bool has_words = item.find_first_of("=abcdefghijklmnopqrstuvwxyz") != item.npos;
    const bool is_range = shape != item && !has_words;
    if (is_range) return add_range(item, list);
    edge(item, shape, 1);
    const std::string n(shape);
    return add_shape(item, n + "x" + n + "x" + n + std::string(item.substr(shape.size())), list);
  }
  const std::vector<std::string_view> edges = split(shape, 'x');
  if (edges.size() == 2 && edges[0] == edges[1]) {  // of each matrix
    edge(item, edges[0], 1);
    return add_shape(item, std::string(edges[0]) + "x" + std::string(item), list);
  }
  if (edges.size() != 3) throw bad_size(item, "does not have three edges");
  edge(item, edges[0], 1);
  edge(item, edges[1], 1);
  edge(item, edges[2], 0);
  add_shape(item, item, list);
}

// What a list is read for.
struct ListReader {
  std::string_view forms;  // how to write an item, for error messages
  bool takes_m;            // an item is a whole product, as a size in another notation is
  std::function<void(std::string_view)> add;  // of an item that is no file, in plain letters
};

ListReader reader_of_sizes(SizeList& list) {
  return {kForms, true, [&list](std::string_view item) { add_size(item, list); }};
}

void add_list(std::string_view text, bool in_file, const ListReader& reader);

// A row of three whole numbers as a size, "1760x16x1760"; any other line as it is.
std::string row_as_size(const std::string& line) {
  std::string text = line;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == ';' || c == '\t'; }, ' ');
  std::istringstream words(text);
  const std::vector<std::string> numbers{std::istream_iterator<std::string>(words), {}};
  const bool is_row =
      numbers.size() == 3 && std::all_of(numbers.begin(), numbers.end(), [](const auto& number) {
        return parse_number<std::int64_t>(number).has_value();
      });
  return is_row ? numbers[0] + "x" + numbers[1] + "x" + numbers[2] : line;
}

// "M,N,K" and the like above such rows.
bool is_heading(std::string line) {
  std::erase_if(
      line, [](char c) { return std::string_view(",; \t\"").find(c) != std::string_view::npos; });
  return line == "MNK" || line == "mnk";
}

void add_file(const std::string& path, const ListReader& reader) {
  std::vector<std::string> lines = read_list_file(path, "size", std::string(reader.forms));
  const bool has_heading = lines.size() > 1 && is_heading(lines.front());
  if (has_heading) lines.erase(lines.begin());
  for (const std::string& line : lines) {
    const std::string size = row_as_size(line);
    if (has_heading && size == line && line.find('x') == line.npos) {
      throw bad_size(line, "is not a row of three numbers, as the file's heading M,N,K announces",
                     reader.forms);
    }
    add_list(size, true, reader);
  }
}

void add_item(std::string_view item, bool in_file, const ListReader& reader) {
  if (item.empty()) throw bad_size(item, "is empty", reader.forms);
  if (item.front() != '@') return reader.add(item);
  if (in_file) throw bad_size(item, "names a file inside a file", reader.forms);
  add_file(std::string(item.substr(1)), reader);
}

// The text with one letter for all multiplication signs, no blanks beside it or a colon, and one
// space for other blanks.
std::string in_plain_letters(std::string_view text) {
  constexpr std::string_view kTimes = "\u00d7", kBlank = " \t\r\n";
  std::string plain;
  bool drops_blanks = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_times = text.substr(at).starts_with(kTimes);
    const bool joins = is_times || text[at] == 'x' || text[at] == 'X' || text[at] == '*';
    const bool is_blank = kBlank.find(text[at]) != kBlank.npos;
    if (is_blank && drops_blanks) continue;
    if ((joins || text[at] == ':') && plain.ends_with(' ')) plain.pop_back();
    plain += joins ? 'x' : is_blank ? ' ' : text[at];
    drops_blanks = is_blank || joins || text[at] == ':';
    if (is_times) at += kTimes.size() - 1;
  }
  return plain;
}

// Where a file's name begins; the text's size if it holds none.
std::size_t file_in(std::string_view text) {
  for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == ';') return at;
  }
  return text.size();
}

// A piece without commas: its sizes, and then perhaps a file, whose name may hold anything.
void add_piece(std::string_view piece, bool in_file, const ListReader& reader) {
  const std::size_t file = file_in(piece);
  const std::string plain = in_plain_letters(piece.substr(0, file));
  std::vector<std::string_view> parts = split(plain, ';');
  const bool is_last = parts.size() == 1 && file == piece.size();
  if (trimmed(parts.back()).empty() && !is_last) parts.pop_back();
  for (const std::string_view part : parts) {
    for (const std::string_view word : split(trimmed(part), ' ')) add_item(word, in_file, reader);
  }
  if (file < piece.size()) add_item(piece.substr(file), in_file, reader);
}

// Where the name of an existing file begins that holds commas; the text's size if none does.
std::size_t file_with_commas(std::string_view text) {
  for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    const std::string_view name = text.substr(at + 1);
    const bool is_first = at == 0 || std::string_view(" ,;").find(text[at - 1]) != text.npos;
    std::error_code ignored;
    const bool has_comma = name.find(',') != name.npos;
    if (is_first && has_comma && std::filesystem::exists(name, ignored)) return at;
  }
  return text.size();
}

void add_list(std::string_view text, bool in_file, const ListReader& reader) {
  const std::size_t file = in_file ? text.size() : file_with_commas(text);
  if (file < text.size()) {
    if (!trimmed(text.substr(0, file)).empty()) add_list(text.substr(0, file), in_file, reader);
    return add_file(std::string(text.substr(file + 1)), reader);
  }
  std::vector<std::string_view> pieces = split(text, ',');
  if (pieces.size() > 1 && trimmed(pieces.back()).empty()) pieces.pop_back();
  try {
    for (const std::string_view piece : pieces) add_piece(trimmed(piece), in_file, reader);
  } catch (const UsageError&) {
    if (!reader.takes_m) throw;
    if (const auto sentence = other_notation(trimmed(text))) throw UsageError(*sentence);
    throw;
  }
}

// What `capture` says of a problem behind its size, as in "# 3 calls, 71.4 % of the operations,
// 750 us of GPU time".
struct Captured {
  std::optional<double> gpu_us, operations;
};

// The number before the words, which follow a unit; nothing where they are not there.
std::optional<double> number_before(std::string_view text, std::string_view words) {
  const std::size_t end = text.find(words);
  if (end == text.npos) return std::nullopt;
  const std::string_view before = trimmed(text.substr(0, end));
  const std::size_t begin = before.find_last_of(" ,#");
  const auto number = parse_number<double>(before.substr(begin == before.npos ? 0 : begin + 1));
  return number && *number > 0 && std::isfinite(*number) ? number : std::nullopt;
}

// problems: of the line, which share what it says.
Captured captured(std::string_view comment, std::size_t problems) {
  const auto share = [&](std::optional<double> all, double unit) {
    return all ? std::optional(*all * unit / static_cast<double>(problems)) : std::nullopt;
  };
  Captured found;
  for (const auto& [words, unit_us] :
       {std::pair(" us of GPU time", 1.0), std::pair(" ms of GPU time", 1e3),
        std::pair(" s of GPU time", 1e6)}) {
    if (!found.gpu_us) found.gpu_us = share(number_before(comment, words), unit_us);
  }
  found.operations = share(number_before(comment, " % of the operations"), 1);
  return found;
}

std::vector<double> weights_of(const std::vector<Captured>& problems) {
  double us = 0, operations = 0;
  for (const Captured& one : problems) {
    if (!one.gpu_us || !one.operations) continue;
    us += *one.gpu_us;
    operations += *one.operations;
  }
  const double us_of_operations = operations > 0 ? us / operations : 1;
  const auto weight = [&](const Captured& one) {
    if (one.gpu_us) return one.gpu_us;
    return one.operations ? std::optional(*one.operations * us_of_operations) : std::nullopt;
  };
  std::optional<double> least;
  for (const Captured& one : problems) {
    if (const auto known = weight(one); known && (!least || *known < *least)) least = known;
  }
  std::vector<double> weights;
  if (!least) return weights;
  for (const Captured& one : problems) weights.push_back(weight(one).value_or(*least));
  return weights;
}

}  // namespace

std::vector<Problem> parse_sizes(std::string_view text, const ProblemDefaults& defaults) {
  SizeList list(defaults);
  add_list(text, false, reader_of_sizes(list));
  return list.take();
}

MRange parse_m_range(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const auto number = [&](std::size_t i) {
    const auto value = i < parts.size() ? parse_number<std::int64_t>(parts[i]) : std::nullopt;
    return value && *value >= 1 && *value <= kMaxEdge ? value : std::nullopt;
  };
  const auto first = number(0), last = number(1);
  if (parts.size() != 2 || !first || !last) {
    throw UsageError("range '" + excerpt(text) +
                     "' is not one of M: write the first and the last, each from 1 to " +
                     std::to_string(kMaxEdge) + ", as in --m-range 1:256");
  }
  if (*last < *first) {
    throw UsageError("range '" + excerpt(text) + "' ends before it begins: write the smaller M " +
                     "first, as in --m-range 1:256");
  }
  return {*first, *last};
}

std::vector<std::vector<Problem>> parse_sizes_without_m(std::string_view text,
                                                        const std::vector<std::int64_t>& all_m,
                                                        const ProblemDefaults& defaults) {
  std::vector<std::vector<Problem>> ranges;
  std::unordered_set<std::string> known;
  const auto add = [&](std::string_view item) {
    const std::string shape(item.substr(0, item.find(':')));
    const std::vector<std::string_view> edges = split(shape, 'x');
    const bool are_numbers = std::all_of(edges.begin(), edges.end(), [](std::string_view edge) {
      return parse_number<std::int64_t>(edge).has_value();
    });
    const bool is_number = parse_number<std::int64_t>(item.substr(item.rfind(':') + 1)).has_value();
    if (edges.size() > 2 || !are_numbers || (shape != item && is_number)) {
      throw bad_size(item, "is not NxK, and --m-range gives M", kFormsWithoutM);
    }
    const std::string n_and_k = (edges.size() == 1 ? shape + "x" : "") + std::string(item);
    SizeList list(defaults);
    for (const std::int64_t m : all_m) {
      add_shape(item, std::to_string(m) + "x" + n_and_k, list);
    }
    std::vector<Problem> problems = list.take();
    if (!known.insert(to_string(problems.front())).second) return;
    if ((ranges.size() + 1) * all_m.size() > kMaxSizes) {
      throw UsageError("--sizes and --m-range name more than " + std::to_string(kMaxSizes) +
                       " problems: tune them in several runs");
    }
    ranges.push_back(std::move(problems));
  };
  add_list(text, false, {kFormsWithoutM, false, add});
  return ranges;
}

std::vector<Problem> read_sizes(const std::string& path, const ProblemDefaults& defaults) {
  SizeList list(defaults);
  add_file(path, reader_of_sizes(list));
  return list.take();
}

WeightedProblems read_capture(const std::string& path, const ProblemDefaults& defaults) {
  SizeList list(defaults);
  std::vector<Captured> lines;
  for (const std::string& line :
       read_list_file(path, "capture", std::string(kForms), Comments::kept)) {
    const std::size_t comment = std::min(line.find('#'), line.size());
    const std::string_view size = trimmed(std::string_view(line).substr(0, comment));
    if (size.empty()) continue;
    const std::size_t before = list.size();
    add_list(row_as_size(std::string(size)), true, reader_of_sizes(list));
    lines.resize(list.size(), captured(line.substr(comment), list.size() - before));
  }
  return {list.take(), weights_of(lines)};
}

std::chrono::seconds parse_duration(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  std::int64_t seconds = 0;
  bool good = parts.size() <= 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const std::optional<std::int64_t> part = parse_number<std::int64_t>(parts[i]);
    good = part && *part >= 0 && *part <= 1'000'000 && (i == 0 || *part < 60);
    if (good) seconds = seconds * 60 + *part;
  }
  if (!good || seconds == 0) {
    throw UsageError("time '" + excerpt(text) +
                     "' is not a duration: write seconds, minutes:seconds or "
                     "hours:minutes:seconds, as in 15:00");
  }
  return std::chrono::seconds(seconds);
}

}  // namespace gemm_tune
