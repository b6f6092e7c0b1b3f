// SPDX-License-Identifier: Apache-2.0
#include "core/problem.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/printable.h"

namespace gemm_tune {
namespace {

UsageError malformed(std::string_view text) {
  static_assert(kMaxEdge == 2'000'000'000, "the message names it");
  return UsageError("'" + excerpt(text) +
                    "' is not a problem: write MxNxK with M and N from 1 and K from 0, each to "
                    "2000000000, as in 1024x512x256, where it differs followed by the type (f32, "
                    "f16, bf16; or those of A, B, C and D), the layout (nn, nt, tn, tt), the "
                    "alignment class (1, 2, 4, of 16-bit types also 8; or that of A, B and C, as "
                    "in 4/4/1) and the batch, as in 1024x512x256:type=bf16:layout=nt:batch=8");
}

constexpr Layout kLayouts[] = {Layout::nn, Layout::nt, Layout::tn, Layout::tt};

std::optional<Layout> find_layout(std::string_view text) {
  for (const Layout layout : kLayouts) {
    if (to_string(layout) == text) return layout;
  }
  return std::nullopt;
}

Alignment packed_alignment(const Problem& problem) {
  const auto of = [](std::int64_t elements, ElementType type) {
    return alignment_of(static_cast<std::uint64_t>(elements * bytes_of(type)));
  };
  const Signature& types = problem.signature;
  return {of(row_length_a(problem), types.a), of(row_length_b(problem), types.b),
          of(problem.N, types.c), of(problem.N, types.d)};
}

std::string alignment_text(const Problem& problem) {
  const int least = alignment_class(problem);
  if (in_class(problem, least) == problem) return std::to_string(least);
  const auto [a, b, c, d] = alignment_in_elements(problem);
  std::string text = std::to_string(a) + "/" + std::to_string(b) + "/" + std::to_string(c);
  if (d != c) text += "/" + std::to_string(d);
  return text;
}

// Reads a problem's text from left to right; throws malformed() of the whole text.
class ProblemReader {
 public:
  explicit ProblemReader(std::string_view text) : text_(text), rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) throw malformed(text_);
  }

  std::int64_t number(std::int64_t least) {
    std::int64_t value = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, value);
    if (error != std::errc() || value < least || value > kMaxEdge) throw malformed(text_);
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }

  Signature signature() {
    const std::string_view name = rest_.substr(0, rest_.find(':'));
    rest_.remove_prefix(name.size());
    return parse_signature(name);
  }

  Layout layout() {
    const auto found = find_layout(rest_.substr(0, 2));
    if (!found) throw malformed(text_);
    rest_.remove_prefix(2);
    return *found;
  }

  // In elements.
  int alignment(ElementType type) {
    const std::int64_t elements = number(1);
    const std::int64_t bytes = elements * bytes_of(type);
    if (bytes > kWidestAccessBytes || alignment_of(static_cast<std::uint64_t>(bytes)) != bytes) {
      throw malformed(text_);
    }
    return static_cast<int>(elements);
  }

 private:
  const std::string_view text_;
  std::string_view rest_;
};

// The problem with the alignment that follows ":align=": the class, or that of each operand.
Problem with_alignment(Problem problem, ProblemReader& reader) {
  const Signature& types = problem.signature;
  const int a = reader.alignment(types.a);
  if (!reader.accept("/")) return in_class(problem, a);
  const int b = reader.alignment(types.b);
  reader.expect("/");
  const int c = reader.alignment(types.c);
  const int d = reader.accept("/") ? reader.alignment(types.d) : c;
  problem.alignment = {a * bytes_of(types.a), b * bytes_of(types.b), c * bytes_of(types.c),
                       d * bytes_of(types.d)};
  return problem;
}

}  // namespace

std::string_view to_string(Layout layout) {
  switch (layout) {
    case Layout::nn:
      return "nn";
    case Layout::nt:
      return "nt";
    case Layout::tn:
      return "tn";
    case Layout::tt:
      return "tt";
  }
  return "?";
}

Layout parse_layout(std::string_view text) {
  if (const auto layout = find_layout(text)) return *layout;
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

Problem key_of(const Problem& problem) {
  const auto elements = [](const Problem& one) {
    const Alignments aligned = alignments(one);
    return std::array{aligned.a, aligned.b, aligned.cd};
  };
  Problem key = problem;
  key.alignment = packed_alignment(problem);
  if (elements(key) == elements(problem)) return key;
  const auto [a, b, cd] = alignments(problem);
  const Signature& types = problem.signature;
  key.alignment = {uniform_alignment(types, a).a, uniform_alignment(types, b).b,
                   uniform_alignment(types, cd).c, uniform_alignment(types, cd).d};
  return key;
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

double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.M) * static_cast<double>(problem.N) *
         static_cast<double>(problem.K) * static_cast<double>(problem.batch);
}

std::string to_string(const Problem& problem) {
  std::string text =
      std::to_string(problem.M) + "x" + std::to_string(problem.N) + "x" + std::to_string(problem.K);
  if (problem.signature != Signature()) text += ":type=" + to_string(problem.signature);
  if (problem.layout != Layout::nn) text += ":layout=" + std::string(to_string(problem.layout));
  if (problem.alignment != packed_alignment(problem)) text += ":align=" + alignment_text(problem);
  if (problem.batch != 1) text += ":batch=" + std::to_string(problem.batch);
  return text;
}

Problem parse_problem(std::string_view text, const ProblemDefaults& defaults) {
  ProblemReader reader(text);
  const std::int64_t M = reader.number(1);
  reader.expect("x");
  const std::int64_t N = reader.number(1);
  reader.expect("x");
  const std::int64_t K = reader.number(0);
  const Signature signature = reader.accept(":type=") ? reader.signature() : defaults.signature;
  const Layout layout = reader.accept(":layout=") ? reader.layout() : defaults.layout;
  Problem problem = packed_problem(M, N, K, layout, defaults.batch, signature);
  if (reader.accept(":align=")) problem = with_alignment(problem, reader);
  if (reader.accept(":batch=")) problem.batch = reader.number(1);
  if (!reader.at_end()) throw malformed(text);
  return problem;
}

}  // namespace gemm_tune
