// SPDX-License-Identifier: Apache-2.0
// The options of the command tune, for gemm-tune and gemm-tune-mpi.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/shared_options.h"
#include "cli/arguments/values/sizes.h"

namespace gemm_tune {

struct TuneOptions : KernelOptions, SearchOptions, RuleOptions {
  std::string capture;   // file of --from-capture; empty: --sizes names the problems
  std::string strategy;  // empty: the default
  std::string budget;
  std::optional<double> target;
  std::string time;
  std::vector<std::string> configs;  // each a config, a family, or @FILE with configs
  std::vector<std::string> baselines = {"cublas"};
  bool without_library = false;
  bool finals = false;
  bool retry_failed = false;
  std::string kernel_cache;  // empty: the default one, for what is compiled anyhow
  bool no_kernel_cache = false;
  bool why = false;  // the long report
  bool dry_run = false;

  void declare(CLI::App& app);
};

// Of the command tune of gemm-tune, which has this machine alone.
struct TuneHereOptions : TuneOptions {
  std::string m_range;  // empty: the sizes say M
  std::string within;   // empty: 5 %
  bool batch_invariant = false;

  void declare(CLI::App& app);
};

// The problems that the options name. Throws UsageError where they name none.
WeightedProblems problems_to_tune(const TuneOptions& options);

}  // namespace gemm_tune
