// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/call_log.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/problem/cublas_functions.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "gpu/cuda_libraries/cublas_types.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {
namespace {

// Each problem once, with the number of its calls; and what is left out.
class CallCounts {
 public:
  // function: that was called, for the reader.
  void add(const std::string& function, const CublasProduct& product) {
    const std::optional<Problem> problem = problem_of(product);
    if (!problem) {
      return leave_out(fmt::format("{} with m={} n={} k={} and a batch of {}", function, product.m,
                                   product.n, product.k, product.batch));
    }
    const std::string text = to_string(*problem);
    CalledProblem& called = counts_[{function, text}];
    called.function = function;
    called.problem = problem;
    called.text = text;
    called.flops = flops(*problem);
    ++called.tunable;
    ++called.declined["logged"];
  }
  // what: "cublasDgemm", "cublasGemmEx of CUDA_R_8I".
  void leave_out(const std::string& what) { ++left_out_[what]; }
  CalledProblems take() {
    CalledProblems all;
    for (auto& [key, called] : counts_) all.problems.push_back(std::move(called));
    all.left_out = std::move(left_out_);
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, CalledProblem> counts_;
  std::map<std::string, std::int64_t> left_out_;
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

  // The name without the number.
  std::string name(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second.substr(0, found->second.find('('));
  }
};

bool multiplies(std::string_view function) {
  return function.find("gemm") != function.npos || function.find("Gemm") != function.npos;
}

void add_logged(const LoggedCall& call, CallCounts& counts) {
  std::string function = call.function;
  for (const std::string_view suffix : {"_64", "_v2"}) {
    if (function.ends_with(suffix)) function.erase(function.size() - suffix.size());
  }
  const std::optional<CublasFunction> known = cublas_function_named(function);
  const bool has_kernels = known && *known != CublasFunction::cublasLtMatmul &&
                           info_of(*known).type != CublasType::F64 &&
                           info_of(*known).batch != CublasBatch::GROUPS;
  if (!has_kernels) {
    if (multiplies(function)) counts.leave_out(function);
    return;
  }
  const std::int64_t compute_type = call.value("computeType", cublas_abi::kComputeF32);
  if (compute_type != cublas_abi::kComputeF32 && compute_type != cublas_abi::kPedanticComputeF32) {
    return counts.leave_out(function + " with " + call.name("computeType"));
  }
  const auto type = [&](const char* name) {
    return cublas_abi::element_type(call.value(name, cublas_abi::data_type(ElementType{})));
  };
  const auto a = type("Atype"), b = type("Btype"), d = type("Ctype");
  if (!a || !b || !d || !is_served({*a, *b, *d, *d, accuracy_of(*a, *b)})) {
    return counts.leave_out(fmt::format("{} of {}, {} and {}", function, call.name("Atype"),
                                        call.name("Btype"), call.name("Ctype")));
  }
  CublasProduct product{Signature{*a, *b, *d, *d, accuracy_of(*a, *b)},
                        call.value("transa", 0) != 0, call.value("transb", 0) != 0};
  product.m = call.value("m", 0);
  product.n = call.value("n", 0);
  product.k = call.value("k", 0);
  product.batch = call.value("batchCount", 1);
  product.batch_kind = batch_kind_of(info_of(*known).batch);
  counts.add(function, product);
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

// Of a block in brackets: "rows=32" of "type=R_16F rows=32 cols=16".
std::string_view field(std::string_view block, std::string_view name) {
  for (std::size_t at = block.find(name); at != block.npos; at = block.find(name, at + 1)) {
    const bool is_whole = at == 0 || block[at - 1] == ' ';
    const std::string_view rest = block.substr(at + name.size());
    if (is_whole && rest.starts_with('=')) return rest.substr(1, rest.find(' ') - 1);
  }
  return {};
}

// A line of cublasLt's log, its fields in brackets: "Adesc=[type=R_16F rows=32 cols=16 ld=32]".
void add_lt_line(const std::string& line, CallCounts& counts) {
  if (line.find("[cublasLtMatmul] ") == line.npos) return;
  const std::string_view a = between(line, "Adesc=[", "]"), b = between(line, "Bdesc=[", "]"),
                         d = between(line, "Ddesc=[", "]"),
                         product = between(line, "computeDesc=[", "]");
  if (a.empty() || b.empty() || d.empty() || product.empty()) return;
  const std::string function = "cublasLtMatmul";
  const auto type_of = [](std::string_view matrix) {
    const std::string_view name = field(matrix, "type");
    return find_type([&](const TypeInfo& one) { return one.cuda_name == name; });
  };
  const auto type_a = type_of(a), type_b = type_of(b), type_d = type_of(d);
  if (!type_a || !type_b || !type_d ||
      !is_served({*type_a, *type_b, *type_d, *type_d, accuracy_of(*type_a, *type_b)})) {
    return counts.leave_out(fmt::format("{} of {}, {} and {}", function, field(a, "type"),
                                        field(b, "type"), field(d, "type")));
  }
  const std::string_view compute_type = field(product, "computeType");
  if (compute_type != "COMPUTE_32F" && compute_type != "COMPUTE_32F_PEDANTIC") {
    return counts.leave_out(fmt::format("{} with {}", function, compute_type));
  }
  const std::string_view epilogue = field(product, "epilogue");
  if (!epilogue.empty() && epilogue != "EPILOGUE_BIAS" && epilogue != "EPILOGUE_RELU_BIAS") {
    return counts.leave_out(fmt::format("{} with {}", function, epilogue));
  }
  if (!field(a, "order").empty() || !field(b, "order").empty() || !field(d, "order").empty()) {
    return counts.leave_out(function + " of matrices in another order");
  }
  CublasProduct called{Signature{*type_a, *type_b, *type_d, *type_d, accuracy_of(*type_a, *type_b)},
                       field(product, "transa") == "OP_T", field(product, "transb") == "OP_T"};
  called.m = number_or(field(d, "rows"), 0);
  called.n = number_or(field(d, "cols"), 0);
  called.k = number_or(field(a, called.transposes_a ? "rows" : "cols"), 0);
  called.batch = number_or(field(d, "batchCount"), 1);
  counts.add(function, called);
}

// "GemmTunableOp_float_NT,nt_25088_4096_64_ld_25088_4096_25088"; a batch of 96 has "_B_96" behind
// the third size. A list of results has the winner and its time behind that.
void add_tunable_op(const std::string& line, CallCounts& counts) {
  const std::size_t comma = line.find(',');
  const std::string named = line.substr(0, comma), operation = named.substr(0, named.find('_'));
  if (comma == line.npos || !operation.ends_with("TunableOp")) return;
  const std::string_view name = between(line, "_", "_");
  const auto type = find_type([&](const TypeInfo& one) { return one.torch_name == name; });
  if (!type) return counts.leave_out(named);
  std::vector<std::string> words;
  std::istringstream product_text(line.substr(comma + 1, line.find(',', comma + 1) - comma - 1));
  for (std::string word; std::getline(product_text, word, '_');) words.push_back(word);
  if (words.size() < 4 || words[0].size() != 2) return counts.leave_out(named + " without sizes");
  CublasProduct product{signature_of(*type), words[0][0] != 'n', words[0][1] != 'n'};
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
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    add_lt_line(line, counts);
    add_tunable_op(line, counts);
  }
  CalledProblems called = counts.take();
  if (!called.problems.empty()) return called;
  throw UsageError("'" + name +
                   "' has no product that could be served: it must be a log of cuBLAS "
                   "(CUBLAS_LOGINFO_DBG=1, CUBLAS_LOGDEST_DBG=FILE), of cublasLt "
                   "(CUBLASLT_LOG_LEVEL=2, CUBLASLT_LOG_FILE=FILE) or PyTorch's tunableop_*.csv" +
                   (called.left_out.empty() ? "" : "; " + left_out_text(called.left_out)));
}

std::string left_out_text(const std::map<std::string, std::int64_t>& left_out) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::pair<std::int64_t, std::string>> ordered;
  std::int64_t all = 0;
  for (const auto& [what, count] : left_out) {
    ordered.emplace_back(count, what);
    all += count;
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{} that gemm-tune has no kernels for:", counted(all, "call"));
  for (std::size_t i = 0; i < std::min(kNamed, ordered.size()); ++i) {
    text += fmt::format("{} {} of {}", i == 0 ? "" : ",", ordered[i].first,
                        printable(ordered[i].second, kLongestQuote));
  }
  if (ordered.size() > kNamed) text += fmt::format(" and {} kinds more", ordered.size() - kNamed);
  return text;
}

}  // namespace gemm_tune
