// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/sizes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "core/error.h"
#include "core/launch_recipe.h"
#include "core/parse_number.h"
#include "core/printable.h"
#include "tuner/app/list_file.h"
#include "tuner/app/other_notations.h"

namespace gemm_tune {
namespace {

constexpr std::string_view kForms =
    "write 1024 (square), 4096x512x1024 (MxNxK), 512:4096:512 (range) or @file";

UsageError bad_size(std::string_view item, const std::string& what) {
  return UsageError("size '" + excerpt(item) + "' " + what + ": " + std::string(kForms));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::int64_t edge(std::string_view item, std::string_view part, std::int64_t least) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(part);
  if (!value) {
    const bool digits = !part.empty() && part.find_first_not_of("-0123456789") == part.npos;
    throw bad_size(item, digits ? "is too large" : "is not a size");
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
    if (!known_.insert(to_string(key_of(problem))).second) return;
    if (problems_.size() == kMaxSizes) {
      throw UsageError("--sizes names more than " + std::to_string(kMaxSizes) +
                       " problems: tune them in several runs");
    }
    problems_.push_back(problem);
  }

  void add_square(std::int64_t n) {
    add(packed_problem(n, n, n, defaults_.layout, defaults_.batch, defaults_.signature));
  }

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

void add_list(std::string_view text, bool in_file, SizeList& list);

void add_file(std::string_view item, SizeList& list) {
  const std::string path(item.substr(1));
  for (const std::string& line : read_list_file(path, "size", std::string(kForms))) {
    add_list(line, true, list);
  }
}

void add_item(std::string_view item, bool in_file, SizeList& list) {
  if (item.empty()) throw bad_size(item, "is empty");
  if (item.front() == '@') {
    if (in_file) throw bad_size(item, "names a file inside a file");
    return add_file(item, list);
  }
  const std::string_view shape = item.substr(0, item.find(':'));
  if (shape.find('x') == std::string_view::npos) {
    const bool is_range = shape != item && item.find('=') == std::string_view::npos;
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
void add_piece(std::string_view piece, bool in_file, SizeList& list) {
  const std::size_t file = file_in(piece);
  const std::string plain = in_plain_letters(piece.substr(0, file));
  std::vector<std::string_view> parts = split(plain, ';');
  const bool is_last = parts.size() == 1 && file == piece.size();
  if (trimmed(parts.back()).empty() && !is_last) parts.pop_back();
  for (const std::string_view part : parts) {
    for (const std::string_view word : split(trimmed(part), ' ')) add_item(word, in_file, list);
  }
  if (file < piece.size()) add_item(piece.substr(file), in_file, list);
}

void add_list(std::string_view text, bool in_file, SizeList& list) {
  std::vector<std::string_view> pieces = split(text, ',');
  if (pieces.size() > 1 && trimmed(pieces.back()).empty()) pieces.pop_back();
  try {
    for (const std::string_view piece : pieces) add_piece(trimmed(piece), in_file, list);
  } catch (const UsageError&) {
    if (const auto sentence = other_notation(trimmed(text))) throw UsageError(*sentence);
    throw;
  }
}

}  // namespace

std::vector<Problem> parse_sizes(std::string_view text, const ProblemDefaults& defaults) {
  SizeList list(defaults);
  add_list(text, false, list);
  return list.take();
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
