#include "core/problem.h"

#include <charconv>

#include "core/error.h"

namespace gemm_tune {
namespace {

UsageError malformed(std::string_view text) {
  static_assert(kMaxEdge == 2'000'000'000, "the message names it");
  return UsageError(
      "'" + std::string(text) +
      "' is not a problem: write MxNxK with M and N from 1 and K from 0, each to 2000000000, as in "
      "1024x512x256, or with an alignment class of 1, 2 or 4, as in 1024x512x256:align=1");
}

}  // namespace

int alignment_class(std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  const std::int64_t bits = lda | ldb | ldc;
  if (bits % 4 == 0) return 4;
  return bits % 2 == 0 ? 2 : 1;
}

Problem packed_problem(std::int64_t M, std::int64_t N, std::int64_t K) {
  Problem problem;
  problem.M = M;
  problem.N = N;
  problem.K = K;
  problem.alignment = alignment_class(K, N, N);
  return problem;
}

double flops(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.M) * static_cast<double>(problem.N) *
         static_cast<double>(problem.K) * static_cast<double>(problem.batch);
}

std::string to_string(const Problem& problem) {
  std::string text =
      std::to_string(problem.M) + "x" + std::to_string(problem.N) + "x" + std::to_string(problem.K);
  if (problem.alignment != packed_problem(problem.M, problem.N, problem.K).alignment) {
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
  Problem problem = packed_problem(M, N, K);
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
