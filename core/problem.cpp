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
                    "2000000000, as in 1024x512x256, where it differs followed by the layout (nn, "
                    "nt, tn, tt), the alignment class (1, 2, 4; or that of A, B and C, as in "
                    "4/4/1) and the batch, as in 1024x512x256:layout=nt:align=1:batch=8");
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

// The operands' alignments in elements.
struct Elements {
  int a, b, c, d;
};

Elements elements_of(const Problem& problem) {
  const Alignment& bytes = problem.alignment;
  const Signature& types = problem.signature;
  return {bytes.a / bytes_of(types.a), bytes.b / bytes_of(types.b), bytes.c / bytes_of(types.c),
          bytes.d / bytes_of(types.d)};
}

std::string alignment_text(const Problem& problem) {
  const int least = alignment_class(problem);
  if (in_class(problem, least) == problem) return std::to_string(least);
  const Elements of = elements_of(problem);
  std::string text = std::to_string(of.a) + "/" + std::to_string(of.b) + "/" + std::to_string(of.c);
  if (of.d != of.c) text += "/" + std::to_string(of.d);
  return text;
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

Problem key_of(const Problem& problem) { return in_class(problem, alignment_class(problem)); }

Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K, Layout layout,
                       std::int64_t batch) {
  Problem problem;
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

Problem parse_problem(std::string_view text, Layout layout, std::int64_t batch) {
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto number = [&](std::int64_t least) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < least || value > kMaxEdge) throw malformed(text);
    at = stop;
    return value;
  };
  const auto accept = [&](std::string_view token) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(token)) return false;
    at += token.size();
    return true;
  };
  // In elements, in and out.
  const auto alignment = [&](ElementType type) {
    const std::int64_t elements = number(1);
    const std::int64_t bytes = elements * bytes_of(type);
    if (bytes > kWidestAccessBytes || alignment_of(static_cast<std::uint64_t>(bytes)) != bytes) {
      throw malformed(text);
    }
    return static_cast<int>(elements);
  };
  const std::int64_t M = number(1);
  if (!accept("x")) throw malformed(text);
  const std::int64_t N = number(1);
  if (!accept("x")) throw malformed(text);
  const std::int64_t K = number(0);
  if (accept(":layout=")) {
    const auto found =
        find_layout(std::string_view(at, static_cast<std::size_t>(end - at)).substr(0, 2));
    if (!found) throw malformed(text);
    layout = *found;
    at += 2;
  }
  Problem problem = packed_problem(M, N, K, layout, batch);
  if (accept(":align=")) {
    const Signature& types = problem.signature;
    Elements of{};
    of.a = alignment(types.a);
    if (accept("/")) {
      of.b = alignment(types.b);
      if (!accept("/")) throw malformed(text);
      of.c = alignment(types.c);
      of.d = accept("/") ? alignment(types.d) : of.c;
      problem.alignment = {of.a * bytes_of(types.a), of.b * bytes_of(types.b),
                           of.c * bytes_of(types.c), of.d * bytes_of(types.d)};
    } else {
      problem = in_class(problem, of.a);
    }
  }
  if (accept(":batch=")) problem.batch = number(1);
  if (at != end) throw malformed(text);
  return problem;
}

}  // namespace gemm_tune
