// SPDX-License-Identifier: Apache-2.0
// The configs of rows: which this program knows, and which may serve a row's problem. Use an object
// from one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "core/problem/problem.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

// Each is parsed and checked once: thousands of winners share one.
class CheckedConfigs {
 public:
  // Empty for a text that this program does not know.
  const std::optional<KnownConfig>& of(const std::string& text);

  // Whether one of its specialisations may be launched for the problem, types and accuracy class
  // among the rest. A row says so of its own problem; one of an earlier version, or of a file that
  // another program wrote, may be wrong, and is no result of the problem.
  bool may_serve(const std::string& text, const Problem& problem);

 private:
  std::unordered_map<std::string, std::optional<KnownConfig>> known_;
};

}  // namespace gemm_tune
