// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/called_problems.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/files/input_file.h"
#include "core/types/accuracy.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

// Of sizes and counts: no sum of as many as a file holds is beyond 64 bits.
constexpr std::int64_t kGreatest = std::int64_t{1} << 40;

// A line that is none of a report's.
class BadLine : public std::exception {};

std::int64_t whole_number(const Json& value) {
  if (!value.is_number_integer()) throw BadLine();
  const bool beyond = value.is_number_unsigned() && value.get<std::uint64_t>() > kGreatest;
  const std::int64_t number = beyond ? kGreatest : value.get<std::int64_t>();
  return std::clamp(number, -kGreatest, kGreatest);
}

std::int64_t count_of(const Json& value) { return std::max<std::int64_t>(0, whole_number(value)); }

// Of the report's names of types; nothing where no kernel can have them.
std::optional<Signature> signature_called(const Json& line) {
  Signature types;
  try {
    const auto type = [&](const char* name) {
      return parse_signature(line.at(name).get<std::string>()).a;
    };
    const ElementType a = type("type_a"), b = type("type_b"), d = type("type_c");
    types = {a, b, d, d, accuracy_of(a, b)};
    if (line.contains("accuracy")) {
      const std::optional<Accuracy> named = accuracy_named(line.at("accuracy").get<std::string>());
      if (!named || info_of(*named).operands != kind_of_operand(a)) throw BadLine();
      types.accuracy = *named;
    }
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return types;
}

std::optional<Problem> problem_called(const Json& line) {
  const auto size = [&](const char* name) { return whole_number(line.at(name)); };
  CublasProduct product{signature_called(line), line.at("op_a") != "N", line.at("op_b") != "N"};
  product.m = size("m");
  product.n = size("n");
  product.k = size("k");
  product.batch = size("batch");
  const std::string batch_kind = line.value("batch_kind", "strided");
  for (const BatchKind one : {BatchKind::pointers, BatchKind::groups}) {
    if (batch_kind == to_string(one)) product.batch_kind = one;
  }
  // Kernels of pointer arrays are of their types' own class, which serves each class.
  if (product.types && product.batch_kind != BatchKind::strided) {
    product.types->accuracy = accuracy_of(product.types->a, product.types->b);
  }
  const std::optional<Problem> packed = problem_of(product);
  if (!packed) return std::nullopt;
  // cuBLAS's D is the transpose of the row-major one.
  const auto epilogue = find_epilogue(line.value("epilogue", "none"));
  if (!epilogue) return std::nullopt;
  const auto aligned = [](const Json& value, ElementType type) {
    const auto bytes =
        std::clamp<std::int64_t>(whole_number(value), bytes_of(type), kWidestAccessBytes);
    return std::max(alignment_of(static_cast<std::uint64_t>(bytes)), bytes_of(type));
  };
  const Signature& types = *product.types;
  // cuBLAS's A is the row-major B.
  const Json& all = line.at("alignments");
  Problem problem = *packed;
  problem.epilogue = epilogue->transposed();
  problem.alignment.a = aligned(all.at(1), types.a);
  problem.alignment.b = aligned(all.at(0), types.b);
  problem.alignment.c = problem.alignment.d = aligned(all.at(2), types.d);
  return problem;
}

// Nothing where the line has no such number above 0.
std::optional<double> positive(const Json& line, const char* name) {
  if (!line.contains(name)) return std::nullopt;
  const Json& value = line.at(name);
  if (!value.is_number()) throw BadLine();
  const double number = value.get<double>();
  return number > 0 && number < 1e15 ? std::optional(number) : std::nullopt;
}

CalledProblem called_problem(const Json& line) {
  CalledProblem called;
  called.function = line.at("function").get<std::string>();
  called.problem = problem_called(line);
  if (called.problem) {
    called.text = to_string(*called.problem);
    called.flops = flops(*called.problem);
  } else {
    called.text = fmt::format("m={} n={} k={}", line.at("m").dump(), line.at("n").dump(),
                              line.at("k").dump());
  }
  called.served = count_of(line.at("served"));
  called.tunable = count_of(line.at("tunable"));
  for (const auto& [reason, count] : line.at("declined").items()) {
    called.declined[reason] = count_of(count);
  }
  const std::int64_t timed = line.contains("timed") ? count_of(line.at("timed")) : 0;
  const std::optional<double> gpu_us = positive(line, "gpu_us");
  if (timed > 0 && gpu_us) called.gpu_us = *gpu_us / static_cast<double>(timed);
  called.expected_us = positive(line, "expected_us");
  called.cublas_us = positive(line, "cublas_us");
  return called;
}

}  // namespace

std::optional<Problem> problem_of(const CublasProduct& product) {
  const auto in_range = [](std::int64_t value, std::int64_t most) {
    return value >= 1 && value <= most;
  };
  const bool sound = in_range(product.m, kMaxEdge) && in_range(product.n, kMaxEdge) &&
                     in_range(product.k, kMaxEdge) && in_range(product.batch, kMaxBatch);
  const bool has_kernels =
      product.types && is_served(*product.types) && product.batch_kind != BatchKind::groups;
  if (!sound || !has_kernels) return std::nullopt;
  Problem problem = packed_problem(product.n, product.m, product.k,
                                   layout_of(product.transposes_b, product.transposes_a),
                                   product.batch, *product.types);
  problem.batch_kind = product.batch_kind;
  return problem;
}

std::int64_t CalledProblem::calls() const {
  std::int64_t all = served;
  for (const auto& [reason, count] : declined) all += count;
  return all;
}

std::vector<double> costs_of_calls(const std::vector<CalledProblem>& problems) {
  double measured_us = 0, measured_flops = 0;
  for (const CalledProblem& problem : problems) {
    if (!problem.gpu_us || problem.flops <= 0) continue;
    const auto calls = static_cast<double>(problem.calls());
    measured_us += *problem.gpu_us * calls;
    measured_flops += problem.flops * calls;
  }
  const double us_per_flop = measured_flops > 0 ? measured_us / measured_flops : 1;
  std::vector<double> costs;
  for (const CalledProblem& problem : problems) {
    costs.push_back(problem.gpu_us.value_or(problem.flops * us_per_flop));
  }
  return costs;
}

CalledProblems parse_called_problems(std::string text, const std::string& name) {
  CalledProblems called;
  called.text = std::move(text);
  std::istringstream lines(called.text);
  try {
    for (std::string words; std::getline(lines, words);) {
      const Json line = Json::parse(words);
      if (line.contains("function")) {
        called.problems.push_back(called_problem(line));
      } else if (!line.contains("pid")) {
        throw BadLine();
      } else if (line.contains("error")) {
        called.errors.push_back(line.at("program").get<std::string>() + ": " +
                                line.at("error").get<std::string>());
      }
    }
  } catch (const Json::exception&) {
    throw UsageError("'" + name + "' is no report of this version's drop-in");
  } catch (const BadLine&) {
    throw UsageError("'" + name + "' is no report of this version's drop-in");
  }
  return called;
}

CalledProblems read_called_problems(const std::filesystem::path& report) {
  constexpr std::size_t kMostBytes = 1'000'000'000;
  std::error_code unreadable;
  if (!std::filesystem::exists(report, unreadable)) return {};
  return parse_called_problems(read_text_file(report.string(), "report", kMostBytes),
                               report.string());
}

}  // namespace gemm_tune
