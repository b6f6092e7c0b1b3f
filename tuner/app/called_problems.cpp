// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/called_problems.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/input_file.h"

namespace gemm_tune {
namespace {

using Json = nlohmann::json;

// Of the report's names of types; nothing where no kernel can have them.
std::optional<Signature> signature_called(const Json& line) {
  Signature types;
  try {
    const ElementType a = parse_signature(line.at("type_a").get<std::string>()).a;
    const ElementType c = parse_signature(line.at("type_c").get<std::string>()).a;
    types = signature_of(a, c);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  const bool alike = line.at("type_b") == line.at("type_a");
  return alike && is_offered(types) ? std::optional(types) : std::nullopt;
}

// cuBLAS is column-major: its product is the row-major one with the operands, M and N swapped.
std::optional<Problem> problem_called(const Json& line) {
  const auto size = [&](const char* name) { return line.at(name).get<std::int64_t>(); };
  const std::optional<Signature> types = signature_called(line);
  const std::int64_t M = size("n"), N = size("m"), K = size("k"), batch = size("batch");
  const auto in_range = [](std::int64_t value, std::int64_t most) {
    return value >= 1 && value <= most;
  };
  const bool sound = in_range(M, kMaxEdge) && in_range(N, kMaxEdge) && in_range(K, kMaxEdge) &&
                     in_range(batch, kMaxBatch);
  if (!types || !sound) return std::nullopt;
  const Layout layout = layout_of(line.at("op_b") != "N", line.at("op_a") != "N");
  const Problem packed = packed_problem(M, N, K, layout, batch, *types);
  return in_class(packed, std::max(1, line.at("alignment").get<int>() / bytes_of(types->a)));
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
  called.served = line.at("served").get<std::int64_t>();
  called.declined = line.at("declined").get<std::map<std::string, std::int64_t>>();
  called.tunable = line.at("tunable").get<std::int64_t>();
  return called;
}

}  // namespace

std::int64_t CalledProblem::calls() const {
  std::int64_t all = served;
  for (const auto& [reason, count] : declined) all += count;
  return all;
}

CalledProblems read_called_problems(const std::filesystem::path& report) {
  CalledProblems called;
  std::error_code unreadable;
  if (!std::filesystem::exists(report, unreadable)) return called;
  constexpr std::size_t kMostBytes = 1'000'000'000;
  called.text = read_input_file(report.string(), "report", kMostBytes);
  std::istringstream text(called.text);
  try {
    for (std::string words; std::getline(text, words);) {
      const Json line = Json::parse(words);
      if (line.contains("function")) {
        called.problems.push_back(called_problem(line));
        continue;
      }
      static_cast<void>(line.at("pid"));  // or it is no line of a process
      if (line.contains("error")) {
        called.errors.push_back(line.at("program").get<std::string>() + ": " +
                                line.at("error").get<std::string>());
      }
    }
  } catch (const Json::exception&) {
    throw UsageError("'" + report.string() + "' is no report of the drop-in");
  }
  return called;
}

}  // namespace gemm_tune
