// SPDX-License-Identifier: Apache-2.0
#include "core/problem/problem.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/text/split.h"
#include "core/text/words.h"

namespace gemm_tune {
namespace {

constexpr auto kLayouts =
    words<Layout>({{Layout::nn, "nn"}, {Layout::nt, "nt"}, {Layout::tn, "tn"}, {Layout::tt, "tt"}});

constexpr auto kBatchKinds = words<BatchKind>({{BatchKind::strided, "strided"},
                                               {BatchKind::pointers, "pointers"},
                                               {BatchKind::groups, "groups"}});

Alignment packed_alignment(const Problem& problem) {
  const auto of = [](std::int64_t elements, ElementType type) {
    return alignment_of(static_cast<std::uint64_t>(elements * bytes_of(type)));
  };
  const Signature& types = problem.signature;
  return {of(row_length_a(problem), types.a), of(row_length_b(problem), types.b),
          of(problem.N, types.c), of(problem.N, types.d)};
}

std::optional<std::int64_t> number_in(std::string_view text, std::int64_t least) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
  return value && *value >= least && *value <= kMaxEdge ? value : std::nullopt;
}

// The text up to the separator, which goes with it; all of it where it has none.
std::string_view take_up_to(char separator, std::string_view& text) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return taken;
}

// A problem's text, part by part. The parts behind the sizes may have any order.
class ProblemReader {
 public:
  explicit ProblemReader(std::string_view text) : text_(text) {
    std::string_view rest = text;
    sizes_ = take_up_to(':', rest);
    if (text.ends_with(':')) throw refused("", "is no part of one");
    while (!rest.empty()) add(take_up_to(':', rest));
  }

  Problem read(const ProblemDefaults& defaults) const {
    Problem sizes;
    read_sizes(sizes);
    const Signature signature = type_ ? named(parse_signature, *type_) : defaults.signature;
    const Layout layout = layout_ ? named(parse_layout, *layout_) : defaults.layout;
    Problem problem =
        packed_problem(sizes.M, sizes.N, sizes.K, layout, batch(defaults.batch), signature);
    problem.alignment = alignment(signature, problem.alignment);
    if (epilogue_) problem.epilogue = named(parse_epilogue, *epilogue_);
    problem.batch_kind = batch_kind_;
    if (const auto why = why_impossible(problem)) throw refused(text_, *why);
    return problem;
  }

 private:
  // Sets the sizes.
  void read_sizes(Problem& problem) const {
    std::string_view rest = sizes_;
    const auto m = number_in(take_up_to('x', rest), 1), n = number_in(take_up_to('x', rest), 1);
    const auto k = number_in(rest, 0);
    static_assert(kMaxEdge == 2'000'000'000, "the message names it");
    if (!m || !n || !k) {
      throw refused(sizes_,
                    "must be MxNxK with M and N from 1 and K from 0, each to 2000000000, "
                    "as in 1024x512x256");
    }
    problem.M = *m;
    problem.N = *n;
    problem.K = *k;
  }

  std::int64_t batch(std::int64_t otherwise) const {
    if (!batch_) return otherwise;
    if (const auto count = number_in(*batch_, 1)) return *count;
    throw refused("batch=", *batch_, "must be a number from 1 to 2000000000, as in batch=8");
  }

  // One number of bytes for all operands, or one for each of A, B, C and D.
  Alignment alignment(const Signature& types, const Alignment& otherwise) const {
    if (!align_) return otherwise;
    std::vector<int> bytes;
    for (const std::string_view one : split(*align_, '/')) {
      bytes.push_back(static_cast<int>(number_in(one, 1).value_or(0)));
    }
    if (bytes.size() == 1) bytes.assign(4, bytes.front());
    const ElementType of[] = {types.a, types.b, types.c, types.d};
    bool is_sound = bytes.size() == 4;
    for (std::size_t i = 0; is_sound && i < 4; ++i) {
      is_sound = bytes[i] >= bytes_of(of[i]) && bytes[i] <= kWidestAccessBytes &&
                 alignment_of(static_cast<std::uint64_t>(bytes[i])) == bytes[i];
    }
    if (is_sound) return {bytes[0], bytes[1], bytes[2], bytes[3]};
    throw refused("align=", *align_,
                  "must be bytes, a power of two from an element's size to 16, as in align=8, or "
                  "those of A, B, C and D, as in align=16/16/4/4");
  }

  // The value that the text names; a refusal names the whole problem too.
  template <typename Value>
  Value named(Value (*parse)(std::string_view), std::string_view text) const {
    try {
      return parse(text);
    } catch (const UsageError& error) {
      throw UsageError("'" + excerpt(text_) + "' is not a problem: " + error.what());
    }
  }

  void add(std::string_view part) {
    if (const auto kind = value_of(kBatchKinds, part); kind && *kind != BatchKind::strided) {
      if (batch_kind_ != BatchKind::strided) throw refused(part, "is a second kind of batch");
      batch_kind_ = *kind;
      return;
    }
    std::string_view value = part;
    const std::string_view name = take_up_to('=', value);
    for (const auto& [known, place] :
         {std::pair("type", &type_), std::pair("layout", &layout_), std::pair("align", &align_),
          std::pair("batch", &batch_), std::pair("epilogue", &epilogue_)}) {
      if (name != known || part.size() == name.size()) continue;
      if (*place) throw refused(part, "is a second " + std::string(known));
      *place = value;
      return;
    }
    throw refused(part,
                  "is none of type=, layout=, align=, batch=, pointers, groups and epilogue=");
  }

  UsageError refused(std::string_view part, const std::string& why) const {
    return refused("", part, why);
  }
  UsageError refused(const char* name, std::string_view value, const std::string& why) const {
    return UsageError("'" + excerpt(text_) + "' is not a problem: '" +
                      excerpt(name + std::string(value)) + "' " + why);
  }

  const std::string_view text_;
  std::string_view sizes_;
  std::optional<std::string_view> type_, layout_, align_, batch_, epilogue_;
  BatchKind batch_kind_ = BatchKind::strided;
};

}  // namespace

std::string to_string(const Alignment& bytes) {
  const auto& [a, b, c, d] = bytes;
  if (a == b && b == c && c == d) return std::to_string(a);
  return std::to_string(a) + "/" + std::to_string(b) + "/" + std::to_string(c) + "/" +
         std::to_string(d);
}

std::string_view to_string(Layout layout) { return word_of(kLayouts, layout); }

std::string_view to_string(BatchKind kind) { return word_of(kBatchKinds, kind); }

Layout parse_layout(std::string_view text) {
  if (const auto layout = value_of(kLayouts, text)) return *layout;
  throw UsageError("'" + excerpt(text) +
                   "' is not a layout: use nn, nt, tn or tt (A's letter first, t for transposed)");
}

Alignment uniform_alignment(const Signature& signature, int elements) {
  const auto bytes = [&](ElementType type) {
    return std::min(elements * bytes_of(type), kWidestAccessBytes);
  };
  return {bytes(signature.a), bytes(signature.b), bytes(signature.c), bytes(signature.d)};
}

Problem in_class(Problem problem, int elements) {
  problem.alignment = packed_alignment(problem);
  if (alignment_class(problem) != elements) {
    problem.alignment = uniform_alignment(problem.signature, elements);
  }
  return problem;
}

Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K, Layout layout,
                       std::int64_t batch, const Signature& signature) {
  Problem problem;
  problem.signature = signature;
  problem.M = M;
  problem.N = N;
  problem.K = K;
  problem.layout = layout;
  problem.batch = batch;
  problem.alignment = packed_alignment(problem);
  return problem;
}

std::int64_t row_length_a(const Problem& problem) {
  return transposes_a(problem.layout) ? problem.M : problem.K;
}

std::int64_t row_length_b(const Problem& problem) {
  return transposes_b(problem.layout) ? problem.K : problem.N;
}

std::int64_t rows_a(const Problem& problem) {
  return transposes_a(problem.layout) ? problem.K : problem.M;
}

std::int64_t rows_b(const Problem& problem) {
  return transposes_b(problem.layout) ? problem.N : problem.K;
}

std::optional<std::string> why_impossible(const Problem& problem) {
  std::optional<std::string> why;
  if (problem.batch_kind == BatchKind::strided) return why;
  problem.epilogue.for_each([&](const EpilogueFunctor& functor, int) {
    if (!lies_as_d(functor)) return;
    why = "has the epilogue " + std::string(functor.name) +
          ", whose operand lies as D does and so has no addresses in a batch of " +
          std::string(to_string(problem.batch_kind));
  });
  return why;
}

double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.M) * static_cast<double>(problem.N) *
         static_cast<double>(problem.K) * static_cast<double>(problem.batch);
}

std::string to_string(const Problem& problem) {
  std::string text =
      std::to_string(problem.M) + "x" + std::to_string(problem.N) + "x" + std::to_string(problem.K);
  if (problem.signature != Signature()) text += ":type=" + to_string(problem.signature);
  if (problem.layout != Layout::nn) text += ":layout=" + std::string(to_string(problem.layout));
  if (problem.alignment != packed_alignment(problem)) {
    text += ":align=" + to_string(problem.alignment);
  }
  if (problem.batch != 1) text += ":batch=" + std::to_string(problem.batch);
  if (problem.batch_kind != BatchKind::strided) {
    text += ":" + std::string(to_string(problem.batch_kind));
  }
  if (!problem.epilogue.is_none()) text += ":epilogue=" + to_string(problem.epilogue);
  return text;
}

Problem parse_problem(std::string_view text, const ProblemDefaults& defaults) {
  return ProblemReader(text).read(defaults);
}

}  // namespace gemm_tune
