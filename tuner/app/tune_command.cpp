// SPDX-License-Identifier: Apache-2.0
// gemm-tune [tune]: runs the search that the command line asks for, and reports its results.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <thread>

#include "core/error.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/source.h"
#include "runtime/kernel_store.h"
#include "tuner/app/commands.h"
#include "tuner/app/dry_run.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/list_file.h"
#include "tuner/app/own_worker.h"
#include "tuner/app/requests.h"
#include "tuner/app/signals.h"
#include "tuner/app/sizes.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/tune_output.h"
#include "tuner/app/version.h"
#include "tuner/job/log.h"
#include "tuner/job/problem_results.h"
#include "tuner/report/progress.h"
#include "tuner/report/report.h"
#include "tuner/report/summary.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

constexpr const char* kConfigForm =
    "write one on each line, as in naive/BM=16,BN=16,COALESCED=1,PRED=0";

// The configs that --config names, without duplicates.
std::vector<KnownConfig> named_configs(const std::vector<std::string>& words) {
  std::vector<KnownConfig> configs;
  std::set<std::string> seen;
  const auto add = [&](const std::string& text) {
    KnownConfig config = check_config(parse_config(text));
    if (seen.insert(to_string(config.config())).second) configs.push_back(std::move(config));
  };
  for (const std::string& word : words) {
    if (!word.starts_with('@')) {
      add(without_white_space(word));
      continue;
    }
    for (const std::string& line : read_list_file(word.substr(1), "config", kConfigForm)) add(line);
  }
  return configs;
}

// Throws where the run would not measure the errors that --max-error compares.
void require_errors(const TuneRequest& request, const Target& target) {
  const auto& baselines = request.baselines;
  if (std::find(baselines.begin(), baselines.end(), BaselineKind::cublas) == baselines.end()) {
    throw UsageError("--max-error is a ratio to cuBLAS's error: add cublas to --baselines");
  }
  if (!target.measurable) {
    throw DeviceError("--max-error cannot be met without a GPU that measures errors: " +
                      target.why_not);
  }
}

}  // namespace

std::size_t default_jobs(const Target& target) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t kept = target.measurable ? target.ordinals.size() : 0;
  return cores > kept ? cores - kept : 1;
}

int exit_code(const TuneReport& report) {
  if (report.interrupted) return kExitInterrupted;
  bool ran_and_failed = false, all_won = true;
  for (const ProblemReport& problem : report.problems) {
    all_won = all_won && problem.winner;
    const Funnel& funnel = problem.funnel;
    const auto failed = total(funnel.failed_on_gpu) + total(funnel.failed_by_environment);
    ran_and_failed = ran_and_failed || (!problem.winner && failed > 0 && funnel.survived == 0);
  }
  if (ran_and_failed) return kExitVerification;
  return all_won ? kExitOk : kExitNothingSurvived;
}

void print_problem(const ProblemReport& problem, const Target& target, const Options& options) {
  if (options.quiet) {
    print_text(result_line(problem, target) + "\n");
  } else if (options.why) {
    print_text(problem_text(problem, target) + "\n");
  } else {
    print_text(short_text(problem, target, form_of_standard_output()) + "\n");
  }
  flush_standard_output();
}

namespace {

void print_json_report(std::span<const DeviceReport> reports, const Database& database) {
  nlohmann::json problems = nlohmann::json::array();
  bool interrupted = false;
  for (const auto& [target, report] : reports) {
    interrupted = interrupted || report.interrupted;
    for (const ProblemReport& problem : report.problems) {
      problems.push_back(problem_json(problem, target));
    }
  }
  print_json({{"problems", problems},
              {"database", database.path().string()},
              {"interrupted", interrupted}});
}

}  // namespace

void print_end(std::span<const DeviceReport> reports, const Options& options, Database& database) {
  database.confirm_stored();
  bool out_of_time = false, interrupted = false, unfinished = false;
  for (const auto& [target, report] : reports) {
    out_of_time = out_of_time || report.out_of_time;
    interrupted = interrupted || report.interrupted;
    unfinished = unfinished || report.unfinished;
  }
  if (options.json) {
    print_json_report(reports, database);
  } else if (!options.quiet) {
    for (const auto& [target, report] : reports) {
      if (report.problems.size() > 1) print_text(results_table(report.problems, target) + "\n");
    }
    print_text(fmt::format("stored in {}\n", database.path().string()));
    if (!options.why) print_text("every reason for a rejection: the same command with --why\n");
    for (const auto& [target, report] : reports) {
      if (!target.measurable) print_text(how_to_time(target, options.command_line));
    }
  }
  if (out_of_time) fmt::print(stderr, "gemm-tune: the time given by --time is used up\n");
  if (interrupted) {
    fmt::print(stderr, "gemm-tune: interrupted{} is stored in {}{}\n",
               unfinished ? "; what was finished" : " when all was done; all",
               database.path().string(),
               unfinished ? ", and the same command goes on from there" : "");
  }
}

void choose_kernel_cache(const Options& options, TuneRequest& request) {
  if (!options.kernel_cache.empty()) {
    const KernelStore usable(options.kernel_cache);
    request.kernel_cache = options.kernel_cache;
    request.completes_kernel_cache = true;
    return;
  }
  // The library launches the program's own kernels, never those of --kernel-dir.
  if (options.no_kernel_cache || request.kernels) return;
  const std::optional<std::filesystem::path> folder = default_kernel_cache();
  if (!folder) return;
  try {
    const KernelStore usable(*folder);
    request.kernel_cache = folder;
  } catch (const Error& error) {
    if (!options.quiet) log_warning(std::string(error.what()) + "; compiled kernels are not kept");
  }
}

std::string without_white_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return text;
}

std::vector<Problem> asked_problems(const Options& options) {
  return parse_sizes(options.sizes,
                     {parse_layout(options.layout), options.batch, parse_signature(options.type)});
}

TuneRequest tune_request(const Options& options, const Target& target,
                         std::vector<Problem> problems) {
  TuneRequest request;
  request.problems = std::move(problems);
  request.device = target.spec;
  request.measure = target.measurable;
  if (target.measurable) request.ordinals = target.ordinals;
  request.memory_bytes = target.memory_bytes;
  request.cuda_version = nvrtc_version();
  request.driver_version = target.driver_version;
  request.worker = own_worker();
  request.only = named_configs(options.configs);
  request.strategy = options.strategy;
  request.target = options.target;
  if (options.target && !request.only.empty()) {
    throw UsageError("--target has no use where --config lists what to try: leave one of them out");
  }
  if (options.target && !options.strategy.empty() && options.strategy != "model") {
    throw UsageError("--target needs the expected gain of more tries, which strategy '" +
                     options.strategy + "' does not give: leave it out, or use --strategy model");
  }
  if (!options.budget.empty()) request.budget = parse_budget(options.budget);
  if (!options.time.empty()) request.time_limit = parse_duration(options.time);
  request.jobs = options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : default_jobs(target);
  request.baselines.clear();
  for (const std::string& word : options.baselines) {
    const BaselineKind kind = parse_baseline_kind(word);
    const auto& asked = request.baselines;
    if (std::find(asked.begin(), asked.end(), kind) == asked.end()) {
      request.baselines.push_back(kind);
    }
  }
  request.rule = winner_rule(options);
  if (request.rule.objective == Objective::cold && !target.measurable) {
    throw DeviceError("--objective cold cannot be met without a GPU that times cold operands: " +
                      target.why_not);
  }
  if (options.max_error) require_errors(request, target);
  request.finals_again = options.finals;
  request.retry_failed = options.retry_failed;
  request.seed = options.seed ? *options.seed : std::random_device()();
  request.kernels = users_kernels(options, request.problems);
  return request;
}

Database open_for_writing(const Options& options) {
  const std::filesystem::path path = database_path(options);
  // Only the default folder is created; a folder that the user names must exist.
  if (options.db.empty()) create_database_folder(path);
  return Database(path, Database::Mode::create_or_open, lock_wait(options, path));
}

std::string host_name() {
  constexpr std::size_t kMost = 255;
  std::string name(kMost + 1, '\0');
  if (gethostname(name.data(), kMost) != 0) return "";
  name.resize(name.find('\0'));
  return name;
}

void begin_run(Database& database, const TuneRequest& request, const Target& target,
               const std::string& command) {
  RunInfo run{kVersion, nvrtc_version(), target.driver_version, command, request.seed};
  run.host = host_name();
  run.gpu = target.gpu;
  database.begin_run(run, texts_of(request), !request.kernels);
}

int run_tune(const Options& options) {
  // Malformed sizes and configs are refused before a driver is started, which takes seconds.
  if (options.sizes.empty()) {
    throw UsageError(
        "name the problems with --sizes, as in --sizes 1024,4096; see gemm-tune --help");
  }
  std::vector<Problem> problems = asked_problems(options);
  const Target target = resolve_target(options);
  TuneRequest request = tune_request(options, target, std::move(problems));
  if (options.dry_run) return dry_run(request, target, options);
  choose_kernel_cache(options, request);
  Database database = open_for_writing(options);
  if (const std::string why = database.journal().why; !why.empty() && !options.quiet) {
    log_warning(fmt::format("{} keeps a rollback journal: {}; processes that share it wait longer",
                            database.path().string(), why));
  }
  begin_run(database, request, target, options.command_line);
  request.interruption = watch_for_signals();
  watch_for_reader();
  TuneReport report;
  {
    // Log lines about candidates would break into the progress line.
    ProgressPrinter printer(options.quiet || options.verbose, request.time_limit);
    const auto print_result = [&](const ProblemReport& problem) {
      printer.clear();
      print_problem(problem, target, options);
    };
    report = tune(
        request, database, [&](const Progress& progress) { printer.show(progress); },
        options.json ? nullptr : OnFinished(print_result));
  }
  print_end(std::vector{DeviceReport{target, report}}, options, database);
  if (!database.mended().empty()) log_warning(database.mended());
  return exit_code(report);
}

}  // namespace gemm_tune
