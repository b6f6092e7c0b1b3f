// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/shared_options.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/arguments/checks.h"
#include "cli/arguments/values/sizes.h"
#include "core/error.h"
#include "core/launch/launch_recipe.h"
#include "core/text/printable.h"
#include "core/types/accuracy.h"
#include "kernel_templates/registry/families.h"

namespace gemm_tune {
namespace {

// Options of this group are for the project's own callers: CLI11's help leaves them out.
constexpr const char* kUnlisted = "";

// What --type takes: the types that built-in families have products of, those that they have of A
// and B alone, and the others. The registry is not asked: it would take no family of the user's
// afterwards.
const std::string& type_help() {
  static const std::string all = [] {
    const std::vector<KernelFamily> built_in = built_in_families();
    const auto has = [&](ElementType ab, ElementType cd) {
      return std::any_of(built_in.begin(), built_in.end(),
                         [&](const auto& family) { return family.supports(signature_of(ab, cd)); });
    };
    std::vector<std::string_view> whole, operands, others;
    for (int i = 0; i < kMatrixTypes; ++i) {
      const auto type = static_cast<ElementType>(i);
      bool is_operand = false;
      for (int d = 0; d < kMatrixTypes; ++d) is_operand |= has(type, static_cast<ElementType>(d));
      (has(type, type) ? whole : is_operand ? operands : others).push_back(to_string(type));
    }
    std::string text = fmt::format(
        "Element type: {}; or those of A, B, C and D, as in bf16/bf16/f32/f32 or "
        "f32/bf16/f32/f32",
        fmt::join(whole, ", "));
    if (!operands.empty()) text += fmt::format(", A and B also of {}", fmt::join(operands, ", "));
    if (!others.empty()) {
      text += fmt::format(" (by a family of yours also {})", fmt::join(others, ", "));
    }
    return text;
  }();
  return all;
}

}  // namespace

void add_database(CLI::App& app, DatabaseOptions& o) {
  app.add_option("--db", o.db, "Database file")->type_name("FILE");
  add_families(app, o.families);
  add_quiet(app, o.quiet);
}

void add_families(CLI::App& app, std::vector<std::string>& families) {
  app.add_option("--family", families,
                 "Plug-in of a kernel family of your own, to use beside the built-in ones; "
                 "repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_quiet(CLI::App& app, bool& quiet) {
  app.add_flag("-q,--quiet", quiet, "No progress, errors only; of tune a line for each problem");
}

void add_json(CLI::App& app, bool& json) { app.add_flag("--json", json, "Results as JSON"); }

ProblemDefaults problem_defaults(const SizeOptions& options) {
  if (!options.accuracy.empty() && !accuracy_named(options.accuracy)) {
    throw UsageError("'" + excerpt(options.accuracy) + "' is not an accuracy class: use one of " +
                     accuracy_names());
  }
  const std::string of_class = options.accuracy.empty() ? "" : "+" + options.accuracy;
  return {parse_layout(options.layout), options.batch, parse_signature(options.type + of_class)};
}

std::vector<Problem> asked_problems(const SizeOptions& options) {
  return parse_sizes(options.sizes, problem_defaults(options));
}

CLI::Option* add_kernel_options(CLI::App& app, KernelOptions& o) {
  CLI::Option* const arch = app.add_option("--arch", o.arch,
                                           "Target, as in sm_86; default: the GPU of --device, or "
                                           "without one the only device of the "
                                           "database that is read")
                                ->type_name("ARCH");
  app.add_option("--gpu", o.gpu, "Target by its card's name, as in \"RTX 3090\"")
      ->type_name("NAME")
      ->excludes(arch);
  app.add_option("--device", o.device, "GPU to use, by CUDA's number")
      ->check(whole_number(0, 1023))
      ->capture_default_str();
  app.add_option("--sm-count", o.sm_count,
                 "SMs of the target; default: its own, or the typical card's")
      ->check(whole_number(1, 4096));
  add_database(app, o);
  add_json(app, o.json);
  app.add_flag("-v,--verbose", o.verbose, "Say what happens to each candidate");
  app.add_flag("--from-python", o.from_python, "Name arguments as the Python package does")
      ->group(kUnlisted);
  add_kernel_dir(app, o.kernel_dir);
  app.add_option("--type", o.type, type_help())->type_name("TYPE")->capture_default_str();
  app.add_option(
         "--accuracy", o.accuracy,
         "Accuracy class, as in fp32_f16x3; default: fp32 for f32, sums in fp32 for 16 bits")
      ->type_name("CLASS");
  app.add_option("--layout", o.layout,
                 "Operands stored transposed, A's letter first: nn, nt, tn or tt")
      ->type_name("LAYOUT")
      ->capture_default_str();
  app.add_option("--batch", o.batch,
                 "Products of one launch, with equal distances between their matrices")
      ->check(whole_number(1, kMaxBatch))
      ->capture_default_str();
  return app.add_option("--sizes", o.sizes, "Problems, as in 1024,4096x512x1024")
      ->type_name("SIZES");
}

void add_kernel_dir(CLI::App& app, std::string& folder) {
  app.add_option("--kernel-dir", folder,
                 "Folder that holds a kernel_templates/ to use instead of the built-in one")
      ->type_name("FOLDER");
}

void add_search(CLI::App& app, SearchOptions& search, TargetOptions& target) {
  app.add_option("--jobs", search.jobs,
                 "Compile processes; default: one per usable core, less one per GPU in use")
      ->check(whole_number(1, 1024));
  app.add_option("--seed", search.seed, "Seed of search order and operands; default: random")
      ->check(any_seed());
  app.add_option("--devices", target.devices,
                 "GPUs of one model to share the work, as in 0,1, or 'all'")
      ->type_name("LIST")
      ->excludes("--device");
  app.add_flag("--require-gpu", target.require_gpu, "Fail rather than predict");
}

void add_winner_rule(CLI::App& app, RuleOptions& o) {
  app.add_option("--objective", o.objective,
                 "Which time decides: with operands in L2 (hot) or outside (cold)")
      ->check(one_of({"hot", "cold"}))
      ->capture_default_str();
  app.add_option("--max-error", o.max_error,
                 "Greatest error of a winner, as a ratio to cuBLAS's error: 1.0 is no more than "
                 "cuBLAS's")
      ->check(number(0.001, 1e6));
}

WinnerRule winner_rule(const RuleOptions& options) {
  return {options.objective == "cold" ? Objective::cold : Objective::hot, options.max_error};
}

}  // namespace gemm_tune
