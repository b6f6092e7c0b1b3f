// SPDX-License-Identifier: Apache-2.0
// gemm-tune export: writes the winners of one architecture for another build.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <set>

#include "choose/export_header.h"
#include "cli/arguments/checks.h"
#include "cli/arguments/database.h"
#include "cli/arguments/kernel_dir.h"
#include "cli/arguments/target.h"
#include "cli/commands.h"
#include "cli/export/bundle.h"
#include "cli/export/export_t4.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "db/transfer/exchange.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct ExportOptions : KernelOptions, RuleOptions {
  std::string format = "header";
  std::string family;        // of T4
  std::string output = "-";  // "-": standard output

  void declare(CLI::App& app) {
    add_kernel_options(app, *this);
    add_winner_rule(app, *this);
    app.add_option(
           "--format", format,
           "header: a C++17 header; bundle: a folder with that header, the compiled kernels and a "
           "loader for C++17, for programs without gemm-tune and NVRTC; exports for several "
           "architectures may share it; json, csv: every row, for db import and other programs; "
           "t4: "
           "the measured rows of one problem as T4 results")
        ->check(one_of({"header", "bundle", "json", "csv", "t4"}))
        ->capture_default_str();
    app.add_option("--of", family, "Kernel family whose rows are written as T4");
    app.add_option("-o,--output", output,
                   "File to write, of a bundle the folder; default, and '-': standard output");
  }
};

// The architecture of the options, of the GPU, or of what is stored.
std::string arch_to_export(const ExportOptions& options) {
  const auto devices = [&] {
    return stored_devices(options, layers_below(options), /*is_needed=*/true);
  };
  return target_arch(options, {devices, /*any_of_one_arch=*/true});
}

// Of the user's database and the layers below it.
void export_winners(const ExportOptions& options, const std::string& arch) {
  const std::vector<std::filesystem::path> layers = layers_below(options);
  const std::optional<Database> own = open_above(layers, options);
  const ExportedKernels kernels =
      export_kernels(own ? &*own : nullptr, layers, arch, asked_revisions(options.kernel_dir),
                     winner_rule(options));
  tell_of_layers(kernels.notes, options.quiet);
  if (options.format == "bundle") {
    write_bundle(kernels, arch, options.output, options.quiet);
  } else {
    write_result(options.output, kernels.header, options.quiet);
  }
}

std::string family_of(const Record& record) {
  return record.config.substr(0, record.config.find('/'));
}

// The measured rows of --sizes on the one device of --arch and --sm-count, by --of.
std::vector<Record> rows_for_t4(const ExportOptions& options) {
  const std::vector<Problem> problems =
      options.sizes.empty() ? std::vector<Problem>() : asked_problems(options);
  if (problems.size() != 1) {
    throw UsageError("T4 results are of one problem: name one in --sizes, as in --sizes 1024");
  }
  const std::string arch = arch_to_export(options);
  const Database database = open_for_reading(options);
  std::set<std::string> devices, families;
  std::vector<Record> rows;
  for (const DeviceKey& device : database.devices()) {
    if (device.arch != arch) continue;
    if (options.sm_count != 0 && device.sm_count != options.sm_count) continue;
    for (Record& record : database.records(device, problems.front())) {
      if (record.source != Source::measured) continue;
      const std::string family = family_of(record);
      if (!options.family.empty() && family != options.family) continue;
      devices.insert(device.name + " with " + std::to_string(device.sm_count) + " SMs");
      families.insert(family);
      rows.push_back(std::move(record));
    }
  }
  if (rows.empty()) {
    throw NothingFound("the database has no measured row of " + to_string(problems.front()) +
                       " on " + arch + (options.family.empty() ? "" : " by " + options.family));
  }
  if (devices.size() > 1) {
    throw UsageError(fmt::format("T4 results are of one device: choose by --sm-count among {}",
                                 fmt::join(devices, ", ")));
  }
  if (families.size() > 1) {
    throw UsageError(fmt::format("T4 results are of one kernel family: name one in --of, of {}",
                                 fmt::join(families, ", ")));
  }
  return rows;
}

std::string rows_as_text(const ExportOptions& options) {
  if (options.format == "t4") return t4_text(rows_for_t4(options));
  const std::filesystem::path path = database_path(options);
  std::optional<std::string> arch;
  if (!options.arch.empty()) arch = options.arch;
  if (!options.gpu.empty()) arch = target_arch(options, {});
  const LockWait lock = lock_wait(options.quiet, path);
  const SlowWork progress(options.quiet, "exporting '" + path.string() + "'");
  return options.format == "json" ? export_as_json(path, arch, current_revisions(), lock)
                                  : export_as_csv(path, arch, current_revisions(), lock);
}

int run_export(const ExportOptions& options) {
  if (options.json) {
    throw UsageError("export has no JSON: leave out --json, or write the rows by --format json");
  }
  const bool is_t4 = options.format == "t4";
  if (!is_t4 && (!options.sizes.empty() || !options.family.empty())) {
    throw UsageError("--sizes and --of are for --format t4: leave them out");
  }
  const bool is_bundle = options.format == "bundle";
  if (!is_bundle) require_writable(options.output, {options.kernel_dir, options.db});
  if (is_t4 || options.format == "json" || options.format == "csv") {
    write_result(options.output, rows_as_text(options), options.quiet);
    return kExitOk;
  }
  if (is_bundle && (options.output.empty() || options.output == "-")) {
    throw UsageError("a bundle is a folder: name it with -o");
  }
  if (is_bundle && !options.kernel_dir.empty()) {
    throw UsageError("a bundle holds the program's own kernels: leave --kernel-dir out");
  }
  if (is_bundle) require_no_journal(options.output);
  const std::string arch = arch_to_export(options);
  try {
    export_winners(options, arch);
  } catch (const NothingFound& error) {
    throw NothingFound(with_tune_command(error.what(), options, arch));
  }
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, Call& call) { attach<ExportOptions>(app, call, run_export); }

}  // namespace gemm_tune
