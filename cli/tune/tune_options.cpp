// SPDX-License-Identifier: Apache-2.0
#include "cli/tune/tune_options.h"

#include "cli/arguments/checks.h"
#include "cli/arguments/values/sizes.h"
#include "core/error.h"
#include "search/strategy/strategy_by_name.h"

namespace gemm_tune {
namespace {

// Which problems, how they are searched, and when a search ends.
void add_search_options(CLI::App& app, TuneOptions& o) {
  CLI::Option* const sizes = add_kernel_options(app, o);
  add_search(app, o, o);
  app.add_option("--strategy", o.strategy,
                 "How to search; default: model, but list order where all are tried")
      ->type_name("NAME")
      ->check(one_of({kStrategyNames.begin(), kStrategyNames.end()}));
  CLI::Option* const capture = app.add_option("--from-capture", o.capture,
                                              "Tune what `capture` wrote, the most GPU time first")
                                   ->type_name("FILE")
                                   ->excludes(sizes);
  for (const char* const of_sizes : {"--type", "--layout", "--batch"}) {  // a capture has its own
    capture->excludes(app.get_option(of_sizes));
  }
  app.add_option(
         "--budget", o.budget,
         "Distinct candidates tried per problem, or 'all'; default: as many as are worth it")
      ->type_name("N");
  app.add_option("--target", o.target,
                 "Stop when the rest of the budget would likely gain less, as in 0.98: 2 %")
      ->check(number(0.5, 0.9999));
  app.add_option(
         "--time", o.time,
         "Time for the run, as in 15:00; the finals of its last problem may end seconds later")
      ->type_name("TIME");
  app.add_option("--config", o.configs,
                 "Try only this config, or the configs of the family of this name; repeatable; "
                 "@FILE has a config on each line")
      ->type_name("CONFIG");
}

void add_finals_options(CLI::App& app, TuneOptions& o) {
  app.add_option("--baselines", o.baselines,
                 "Baselines of the finals, of cublas, cublaslt (the best of its proposals) and "
                 "cublas-autotuned (CUBLAS_GEMM_AUTOTUNE)")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(one_of({"cublas", "cublaslt", "cublas-autotuned"}))
      ->capture_default_str();
  app.add_flag(
      "--without-library", o.without_library,
      "Try kernels alone: not cuBLAS's choice and cublasLt's proposals, which otherwise are "
      "timed, verified and stored like kernels, besides the budget");
  add_winner_rule(app, o);
  app.add_flag("--finals", o.finals,
               "Time finalists and baselines again even if their times are stored; with "
               "--batch-invariant, choose the order of sums anew");
  app.add_flag("--retry-failed", o.retry_failed,
               "First try the candidates again that failed in earlier runs");
}

}  // namespace

void TuneOptions::declare(CLI::App& app) {
  add_search_options(app, *this);
  add_finals_options(app, *this);
  CLI::Option* const cache = app.add_option("--kernel-cache", kernel_cache,
                                            "Folder of compiled kernels, also for gt_open(): "
                                            "stored winners' kernels, all that the "
                                            "library may launch, are written there, and kernels "
                                            "found there are not compiled again; "
                                            "default: "
                                            "$XDG_CACHE_HOME/gemm-tune, else ~/.cache/gemm-tune, "
                                            "for what the search compiles anyhow")
                                 ->type_name("FOLDER");
  app.add_flag("--no-kernel-cache", no_kernel_cache, "Keep no compiled kernels")->excludes(cache);
  app.add_flag("--why", why, "The long report: every reason for a rejection, all baselines' times");
  app.add_flag("--dry-run", dry_run, "Count and estimate; compile nothing");
}

void TuneHereOptions::declare(CLI::App& app) {
  TuneOptions::declare(app);
  app.add_option(
         "--m-range", m_range,
         "Tune each NxK of --sizes for all M from the first to the last, as in 1:256: by the "
         "fewest configs that are near the best at each M")
      ->type_name("FIRST:LAST");
  app.add_option(
         "--within", within,
         "How much longer than the best config those of --m-range may take, as in 5% or 0.05; "
         "default: 5%")
      ->type_name("SHARE");
  app.add_flag("--batch-invariant", batch_invariant,
               "With --m-range: configs of one order of sums, so that the bits of a row do not "
               "depend on M");
}

WeightedProblems problems_to_tune(const TuneOptions& options) {
  if (!options.capture.empty()) return read_capture(options.capture, problem_defaults(options));
  if (options.sizes.empty()) {
    throw UsageError(
        "name the problems with --sizes, as in --sizes 1024,4096; see gemm-tune --help");
  }
  return {asked_problems(options), {}};
}

}  // namespace gemm_tune
