// SPDX-License-Identifier: Apache-2.0
// The command line as data: CLI11 parses it into one struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/record.h"

namespace gemm_tune {

enum class Command {
  tune,
  best,
  bench,
  explain,
  ladder,
  replay,
  export_winners,
  report,
  db_info,
  db_check,
  db_salvage,
  db_rekey,
  db_merge,
  db_diff,
  db_prune,
  db_import,
  db_contribute,
  run,
  capture
};

struct Options {
  Command command = Command::tune;
  std::string command_line;  // complete, quoted for a shell: UTF-8 without control bytes
  std::string arch;
  std::string sizes;
  std::string type = "f32";
  std::string layout = "nn";
  std::int64_t batch = 1;
  int device = 0;
  std::string devices;  // a list or 'all'; empty: only `device`
  int sm_count = 0;     // 0: the device's, or the typical card's
  std::string budget;
  std::string objective = "hot";
  std::optional<double> max_error;  // ratio to cuBLAS's
  std::optional<double> target;
  std::string time;
  std::string db;
  int jobs = 0;  // 0: one per core
  std::optional<std::uint64_t> seed;
  std::string config;                // for explain
  std::vector<std::string> configs;  // each a config, or @FILE with one config on each line
  std::string kernel_dir;
  std::string kernel_cache;  // of tune; empty: the default one, for what is compiled anyhow
  bool no_kernel_cache = false;
  std::string format = "header";
  std::string family;               // of export as T4
  std::string output = "-";         // for export, report, db salvage; "-": standard output
  std::vector<std::string> inputs;  // for db merge, diff, import and contribute --check
  std::string cubin;
  std::vector<std::string> baselines = {"cublas"};
  std::vector<std::string> sweeps;  // for replay, with the options below
  std::string strategy;             // for tune too; empty: the default
  std::string prior = "none";
  int repeats = 1;
  int in_flight = 1;
  std::string trace;
  std::vector<std::string> application;  // for run and capture: a program and its arguments
  std::string log;                       // of capture; empty: a program is run
  std::string report;                    // of run; empty: none is kept
  bool audit = false;                    // of run and capture
  bool all = false;                      // for db rekey
  bool stale = false;                    // for db prune, with the next two
  bool failures = false;
  std::vector<std::string> of;  // devices, by name or architecture
  bool finals = false;
  bool retry_failed = false;
  bool dry_run = false;
  bool require_gpu = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool why = false;          // of tune: the long report
  bool from_python = false;  // the caller is the Python package
};

// The result of parsing: options to act on, or a text to print and an exit code.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
  std::string message;  // help and version go to stdout, errors to stderr
};

// What --objective and --max-error say.
WinnerRule winner_rule(const Options& options);

// The value of --budget: a count above 0, or the greatest count for 'all'. Throws UsageError.
std::size_t parse_budget(const std::string& text);

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace gemm_tune
