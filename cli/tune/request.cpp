// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/request.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/arguments/kernel_dir.h"
#include "cli/arguments/values/named_config.h"
#include "cli/arguments/values/sizes.h"
#include "cli/help/version.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/random_word.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/usable_cpus.h"
#include "db/layers.h"
#include "gpu/compile/nvrtc.h"
#include "runtime/kernel_store.h"
#include "runtime/library.h"
#include "tuner/job/log.h"
#include "tuner/plan/problem_results.h"
#include "tuner/process/signals_blocked.h"
#include "tuner/work/own_worker.h"

namespace gemm_tune {
namespace {

// The value of --budget: a count above 0, or the greatest count for 'all'.
std::size_t parse_budget(const std::string& text) {
  if (text == "all") return std::numeric_limits<std::size_t>::max();
  const std::size_t budget = parse_number<std::size_t>(text).value_or(0);
  if (budget > 0) return budget;
  throw UsageError("budget '" + excerpt(text) +
                   "' is not a number of candidates: write one, or 'all'");
}

// Each once, in their order.
std::vector<BaselineKind> baseline_kinds(const std::vector<std::string>& words) {
  std::vector<BaselineKind> kinds;
  for (const std::string& word : words) {
    const BaselineKind kind = parse_baseline_kind(word);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

// Throws where the target cannot be reached as --target says.
void require_expected_gain(const TuneOptions& options) {
  if (!options.configs.empty()) {
    throw UsageError("--target has no use where --config lists what to try: leave one of them out");
  }
  if (!options.strategy.empty() && options.strategy != "model") {
    throw UsageError("--target needs the expected gain of more tries, which strategy '" +
                     options.strategy + "' does not give: leave it out, or use --strategy model");
  }
}

// Throws where the run would not measure what the rule compares.
void require_measured(const TuneRequest& request, const Target& target) {
  if (request.rule.objective == Objective::cold && !target.measurable) {
    throw DeviceError("--objective cold cannot be met without a GPU that times cold operands: " +
                      target.why_not);
  }
  if (!request.rule.max_error) return;
  const auto& baselines = request.baselines;
  if (std::find(baselines.begin(), baselines.end(), BaselineKind::cublas) == baselines.end()) {
    throw UsageError("--max-error is a ratio to cuBLAS's error: add cublas to --baselines");
  }
  if (!target.measurable) {
    throw DeviceError("--max-error cannot be met without a GPU that measures errors: " +
                      target.why_not);
  }
}

// Whether algorithms of the libraries are among the candidates, where a GPU measures.
bool tries_algorithms(const TuneOptions& options) {
  return !options.without_library && options.configs.empty();
}

}  // namespace

std::future<void> open_libraries(const TuneOptions& options) {
  const SignalsBlocked blocked;
  return std::async(std::launch::async, [with_algorithms = tries_algorithms(options)] {
    nvrtc_version_if_there();
    if (with_algorithms) library_revisions_here();
  });
}

std::size_t default_jobs(const Target& target) {
  const std::size_t cores = usable_cpus();
  const std::size_t kept = target.measurable ? target.ordinals.size() : 0;
  return cores > kept ? cores - kept : 1;
}

TuneRequest search_request(const SearchOptions& search, const std::string& kernel_dir,
                           const Target& target, std::vector<Problem> problems, bool compiles) {
  TuneRequest request;
  request.problems = std::move(problems);
  request.device = target.spec;
  request.measure = target.measurable;
  if (target.measurable) request.ordinals = target.ordinals;
  request.cuda_version = compiles ? nvrtc_version() : nvrtc_version_if_there();
  request.driver_version = target.driver_version;
  request.worker = own_worker();
  request.jobs = search.jobs > 0 ? static_cast<std::size_t>(search.jobs) : default_jobs(target);
  request.seed = search.seed ? *search.seed : random_word();
  request.kernels = users_kernels(kernel_dir, request.problems);
  return request;
}

TuneRequest tune_request(const TuneOptions& options, const Target& target,
                         WeightedProblems problems) {
  TuneRequest request = search_request(options, options.kernel_dir, target,
                                       std::move(problems.problems), !options.dry_run);
  request.weights = std::move(problems.weights);
  NamedConfigs named = named_configs(options.configs);
  request.only = std::move(named.configs);
  request.families = std::move(named.families);
  request.strategy = options.strategy;
  request.target = options.target;
  if (options.target) require_expected_gain(options);
  if (!options.budget.empty()) request.budget = parse_budget(options.budget);
  if (!options.time.empty()) request.time_limit = parse_duration(options.time);
  request.baselines = baseline_kinds(options.baselines);
  if (target.measurable && tries_algorithms(options)) {
    request.libraries = library_revisions_here();
  }
  // Whatever the database: what others have found is tried, and not believed.
  if (target.measurable) request.layers = layer_files(layer_folders_here());
  request.rule = winner_rule(options);
  require_measured(request, target);
  request.finals_again = options.finals;
  request.retry_failed = options.retry_failed;
  return request;
}

void choose_kernel_cache(const TuneOptions& options, TuneRequest& request) {
  if (!options.kernel_cache.empty()) {
    require_no_journal(options.kernel_cache);
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

std::string host_name() {
  constexpr std::size_t kMost = 255;
  std::string name(kMost + 1, '\0');
  if (gethostname(name.data(), kMost) != 0) return "";
  name.resize(name.find('\0'));
  return name;
}

void begin_run(Database& database, const TuneRequest& request, const Target& target,
               const std::string& command_line) {
  RunInfo run{kVersion, nvrtc_version(), target.driver_version, command_line, request.seed};
  run.host = host_name();
  run.gpu = target.gpu;
  KernelRevisions revisions = request.kernels ? KernelRevisions() : current_revisions();
  if (!request.kernels) revisions.insert(request.libraries.begin(), request.libraries.end());
  database.begin_run(run, revisions);
}

}  // namespace gemm_tune
