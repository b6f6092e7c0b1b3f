// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/sizes.h"

#include <optional>
#include <string>
#include <unordered_set>

#include "core/error.h"
#include "core/launch_recipe.h"
#include "core/parse_number.h"
#include "core/printable.h"
#include "tuner/app/list_file.h"

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
  if (edges.size() != 3) throw bad_size(item, "does not have three edges");
  edge(item, edges[0], 1);
  edge(item, edges[1], 1);
  edge(item, edges[2], 0);
  add_shape(item, item, list);
}

void add_list(std::string_view text, bool in_file, SizeList& list) {
  for (const std::string_view item : split(text, ',')) add_item(trimmed(item), in_file, list);
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
