// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/library_families.h"

#include <algorithm>
#include <string>
#include <vector>

namespace gemm_tune {
namespace {

constexpr const char* kWorkspace = "WORKSPACE";
// What cuBLAS's documentation of cublasSetWorkspace() recommends for sm_90.
constexpr int kChoiceWorkspaceBytes = 32 << 20;

// A parameter: any whole number.
struct Number {
  std::string name;
  const char* meaning;
  std::optional<int> default_value = 0;
};

KernelFamily library_family(const char* name, const char* library, const char* summary,
                            const std::vector<Number>& numbers) {
  KernelFamily family;
  family.name = name;
  family.library = library;
  family.summary = summary;
  for (const Number& one : numbers) {
    family.params.push_back({one.name, {}, one.meaning, Role::tunable, one.default_value});
  }
  const std::size_t workspace = family.find_param(kWorkspace).value();
  family.reject = [workspace](Values values) -> std::optional<std::string> {
    if (values[workspace] >= 0) return std::nullopt;
    return "WORKSPACE must not be negative";
  };
  family.traits = [](Values) { return Traits(); };
  return family;
}

KernelFamily cublas() {
  return library_family("cublas", "cuBLAS", "the algorithm that cuBLAS chooses by itself",
                        {{kWorkspace, "bytes of scratch memory", std::nullopt}});
}

KernelFamily cublas_lt() {
  std::vector<Number> numbers = {
      {"ALGO", "the algorithm's number", std::nullopt},
      {"TILE", "number of the CTA tile's shape"},
      {"STAGES", "number of the pipeline's shape"},
      {"SPLIT_K", "CTAs sharing a tile along K", 1},
      {"REDUCTION", "how their sums are added up"},
      {"SWIZZLE", "order of the CTAs"},
      {"CUSTOM", "an option of the algorithm"},
      {"INNER", "number of the instruction's shape"},
      {"CLUSTER", "number of the cluster's shape"},
      {kWorkspace, "bytes of scratch memory"},
  };
  constexpr int kWords = 16;
  for (int i = 0; i < kWords; ++i) {
    numbers.push_back({"X" + std::to_string(i),
                       "what the other numbers do not tell of the algorithm's structure"});
  }
  return library_family("cublaslt", "cublasLt", "an algorithm that cublasLt proposes", numbers);
}

}  // namespace

std::span<const KernelFamily> library_families() {
  static const std::vector<KernelFamily> all = {cublas(), cublas_lt()};
  return all;
}

const KernelFamily& cublas_family() { return library_families().front(); }

const KernelFamily& cublas_lt_family() { return library_families().back(); }

bool names_library(std::string_view config) {
  const std::string_view name = config.substr(0, config.find('/'));
  const std::span<const KernelFamily> all = library_families();
  return std::any_of(all.begin(), all.end(),
                     [&](const KernelFamily& family) { return family.name == name; });
}

const KnownConfig& library_choice() {
  static const KnownConfig choice = known_config(cublas_family(), {kChoiceWorkspaceBytes});
  return choice;
}

std::int64_t library_workspace_bytes(const KnownConfig& config) {
  return config.values[config.family->find_param(kWorkspace).value()];
}

}  // namespace gemm_tune
