// SPDX-License-Identifier: Apache-2.0
#include "core/problem.h"

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
                    "nt, tn, tt), the alignment class (1, 2, 4) and the batch, as in "
                    "1024x512x256:layout=nt:align=1:batch=8");
}

constexpr Layout kLayouts[] = {Layout::nn, Layout::nt, Layout::tn, Layout::tt};

std::optional<Layout> find_layout(std::string_view text) {
  for (const Layout layout : kLayouts) {
    if (to_string(layout) == text) return layout;
  }
  return std::nullopt;
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

Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K, Layout layout,
                       std::int64_t batch) {
  Problem problem;
  problem.M = M;
  problem.N = N;
  problem.K = K;
  problem.layout = layout;
  problem.batch = batch;
  problem.alignment = alignment_class(row_length_a(problem), row_length_b(problem), N);
  return problem;
}

std::int64_t row_length_a(const Problem& problem) {
  return transposes_a(problem.layout) ? problem.M : problem.K;
}

std::int64_t row_length_b(const Problem& problem) {
  return transposes_b(problem.layout) ? problem.K : problem.N;
}

double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.M) * static_cast<double>(problem.N) *
         static_cast<double>(problem.K) * static_cast<double>(problem.batch);
}

std::string to_string(const Problem& problem) {
  std::string text =
      std::to_string(problem.M) + "x" + std::to_string(problem.N) + "x" + std::to_string(problem.K);
  const Problem packed = packed_problem(problem.M, problem.N, problem.K, problem.layout);
  if (problem.layout != Layout::nn) text += ":layout=" + std::string(to_string(problem.layout));
  if (problem.alignment != packed.alignment) {
    text += ":align=" + std::to_string(problem.alignment);
  }
  if (problem.batch != 1) text += ":batch=" + std::to_string(problem.batch);
  return text;
}

Problem parse_problem(std::string_view text) {
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
  const std::int64_t M = number(1);
  if (!accept("x")) throw malformed(text);
  const std::int64_t N = number(1);
  if (!accept("x")) throw malformed(text);
  const std::int64_t K = number(0);
  Layout layout = Layout::nn;
  if (accept(":layout=")) {
    const auto found =
        find_layout(std::string_view(at, static_cast<std::size_t>(end - at)).substr(0, 2));
    if (!found) throw malformed(text);
    layout = *found;
    at += 2;
  }
  Problem problem = packed_problem(M, N, K, layout);
  if (accept(":align=")) {
    const std::int64_t alignment = number(1);
    if (alignment != 1 && alignment != 2 && alignment != 4) throw malformed(text);
    problem.alignment = static_cast<int>(alignment);
  }
  if (accept(":batch=")) problem.batch = number(1);
  if (at != end) throw malformed(text);
  return problem;
}

}  // namespace gemm_tune
