// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/call_log.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/parse_number.h"
#include "gpu/cublas_types.h"

namespace gemm_tune {
namespace {

// Each problem once, with the number of its calls.
class CallCounts {
 public:
  void add(const std::string& function, const CublasProduct& product) {
    const std::optional<Problem> problem = problem_of(product);
    if (!problem) return;
    const std::string text = to_string(*problem);
    CalledProblem& called = counts_[{function, text}];
    called.function = function;
    called.problem = problem;
    called.text = text;
    called.flops = flops(*problem);
    ++called.tunable;
    ++called.declined["logged"];
  }
  CalledProblems take() {
    CalledProblems all;
    for (auto& [key, called] : counts_) all.problems.push_back(std::move(called));
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, CalledProblem> counts_;
};

std::int64_t number_or(std::string_view text, std::int64_t otherwise) {
  return parse_number<std::int64_t>(text).value_or(otherwise);
}

// The part of the text between the two; empty where either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view behind) {
  const std::size_t start = text.find(before);
  if (start == text.npos) return {};
  text.remove_prefix(start + before.size());
  const std::size_t end = text.find(behind);
  return end == text.npos ? std::string_view() : text.substr(0, end);
}

// Of a block of cuBLAS's log: the function, and its parameters' values by name.
struct LoggedCall {
  std::string function;
  std::map<std::string, std::string, std::less<>> values;

  // A number, or the one in the parentheses of a name: "CUBLAS_OP_T(1)".
  std::int64_t value(std::string_view name, std::int64_t otherwise) const {
    const auto found = values.find(name);
    if (found == values.end()) return otherwise;
    const std::string_view in_name = between(found->second, "(", ")");
    return number_or(in_name.empty() ? std::string_view(found->second) : in_name, otherwise);
  }
};

void add_logged(const LoggedCall& call, CallCounts& counts) {
  std::string_view function = call.function;
  for (const std::string_view suffix : {"_64", "_v2"}) {
    if (function.ends_with(suffix)) function.remove_suffix(suffix.size());
  }
  constexpr std::string_view kFunctions[] = {"cublasSgemm", "cublasSgemmStridedBatched",
                                             "cublasSgemmEx", "cublasGemmEx",
                                             "cublasGemmStridedBatchedEx"};
  if (std::find(std::begin(kFunctions), std::end(kFunctions), function) == std::end(kFunctions)) {
    return;
  }
  const std::int64_t compute_type = call.value("computeType", cublas_abi::kComputeF32);
  if (compute_type != cublas_abi::kComputeF32 && compute_type != cublas_abi::kPedanticComputeF32) {
    return;
  }
  const auto type = [&](const char* name) {
    return cublas_abi::element_type(call.value(name, cublas_abi::kRealF32));
  };
  const auto a = type("Atype"), b = type("Btype"), c = type("Ctype");
  if (!a || a != b || !c) return;
  CublasProduct product{signature_of(*a, *c), call.value("transa", 0) != 0,
                        call.value("transb", 0) != 0};
  product.m = call.value("m", 0);
  product.n = call.value("n", 0);
  product.k = call.value("k", 0);
  product.batch = call.value("batchCount", 1);
  counts.add(std::string(function), product);
}

void add_cublas_log(const std::string& text, CallCounts& counts) {
  LoggedCall call;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("I! ")) {  // a block's first line
      add_logged(call, counts);
      call = {std::string(between(line, " function cublasStatus_t ", "(")), {}};
    } else if (line.starts_with("i!  ")) {
      const std::string_view name = between(line, "i!  ", ":");
      const std::size_t value = line.find("val=");
      if (value != line.npos) call.values[std::string(name)] = line.substr(value + 4);
    }
  }
  add_logged(call, counts);
}

// "GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088"; a batch of 96 has "_B_96" behind
// the third size.
void add_untuned_line(const std::string& line, CallCounts& counts) {
  const std::map<std::string_view, ElementType> types = {
      {"float", ElementType::f32}, {"Half", ElementType::f16}, {"BFloat16", ElementType::bf16}};
  const std::size_t comma = line.find(',');
  const std::string operation = line.substr(0, line.find('_'));
  const auto type = types.find(between(line, "_", "_"));
  if (comma == line.npos || !operation.ends_with("TunableOp") || type == types.end()) return;
  std::vector<std::string> words;
  std::istringstream rest(line.substr(comma + 1));
  for (std::string word; std::getline(rest, word, '_');) words.push_back(word);
  if (words.size() < 4 || words[0].size() != 2) return;
  CublasProduct product{signature_of(type->second), words[0][0] != 'n', words[0][1] != 'n'};
  product.m = number_or(words[1], 0);
  product.n = number_or(words[2], 0);
  product.k = number_or(words[3], 0);
  if (words.size() > 5 && words[4] == "B") product.batch = number_or(words[5], 0);
  counts.add(operation, product);
}

}  // namespace

CalledProblems parse_call_log(const std::string& text, const std::string& name) {
  CallCounts counts;
  add_cublas_log(text, counts);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) add_untuned_line(line, counts);
  CalledProblems called = counts.take();
  if (!called.problems.empty()) return called;
  throw UsageError("'" + name +
                   "' has no product that could be served: it must be a log of cuBLAS "
                   "(CUBLAS_LOGINFO_DBG=1, CUBLAS_LOGDEST_DBG=FILE) or PyTorch's "
                   "tunableop_untuned*.csv");
}

}  // namespace gemm_tune
