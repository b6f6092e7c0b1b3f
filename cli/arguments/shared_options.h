// SPDX-License-Identifier: Apache-2.0
// Options that several commands have. A command's own struct derives from those that it needs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "db/record.h"

namespace gemm_tune {

struct DatabaseOptions {
  std::string db;                     // empty: GEMM_TUNE_DB, else the default path
  std::vector<std::string> families;  // plug-ins of users, loaded before the command runs
  bool quiet = false;
};

void add_database(CLI::App& app, DatabaseOptions& o);
// families: a member of this name is loaded before the command runs (attach()).
void add_families(CLI::App& app, std::vector<std::string>& families);
void add_quiet(CLI::App& app, bool& quiet);
void add_json(CLI::App& app, bool& json);

struct TargetOptions {
  std::string arch;
  std::string gpu;  // a card's name in place of an architecture
  int device = 0;
  int sm_count = 0;     // 0: the device's, or the typical card's
  std::string devices;  // a list or 'all'; empty: only `device`
  bool require_gpu = false;
  bool from_python = false;  // the caller is the Python package
};

struct SizeOptions {
  std::string sizes;
  std::string type = "f32";
  std::string accuracy;  // class; empty: the type's own
  std::string layout = "nn";
  std::int64_t batch = 1;
};

// What sizes mean that name no type, layout or batch. Throws UsageError.
ProblemDefaults problem_defaults(const SizeOptions& options);

// The problems that --sizes, --type, --layout and --batch name. Throws UsageError.
std::vector<Problem> asked_problems(const SizeOptions& options);

// Of the commands about kernels at problems.
struct KernelOptions : DatabaseOptions, TargetOptions, SizeOptions {
  std::string kernel_dir;
  bool json = false;
  bool verbose = false;
};

// Returns --sizes, which some commands require.
CLI::Option* add_kernel_options(CLI::App& app, KernelOptions& o);
void add_kernel_dir(CLI::App& app, std::string& folder);

// Of the commands that search.
struct SearchOptions {
  int jobs = 0;  // 0: one per usable core (core/usable_cpus.h)
  std::optional<std::uint64_t> seed;
};

void add_search(CLI::App& app, SearchOptions& search, TargetOptions& target);

struct RuleOptions {
  std::string objective = "hot";
  std::optional<double> max_error;  // ratio to cuBLAS's
};

void add_winner_rule(CLI::App& app, RuleOptions& o);
WinnerRule winner_rule(const RuleOptions& options);

}  // namespace gemm_tune
