// SPDX-License-Identifier: Apache-2.0
// gemm-tune export: writes the winners of one architecture for another build.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <set>

#include "choose/export_header.h"
#include "core/error.h"
#include "db/exchange.h"
#include "tuner/app/bundle.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/export_t4.h"
#include "tuner/app/output_file.h"
#include "tuner/app/requests.h"
#include "tuner/app/target.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {

namespace {

// Of the user's database and the layers below it.
void export_winners(const Options& options, const std::string& arch) {
  const std::vector<std::filesystem::path> layers = layers_below(options);
  const std::optional<Database> own = open_above(layers, options);
  const ExportedKernels kernels = export_kernels(
      own ? &*own : nullptr, layers, arch, hashes_of(asked_kernels(options)), winner_rule(options));
  tell_of_layers(kernels.notes, options);
  if (options.format == "bundle") {
    write_bundle(kernels, arch, options.output, options.quiet);
  } else {
    write_output(options.output, kernels.header);
  }
}

std::string family_of(const Record& record) {
  return record.config.substr(0, record.config.find('/'));
}

// The measured rows of --sizes on the one device of --arch and --sm-count, by --family.
std::vector<Record> rows_for_t4(const Options& options) {
  const std::vector<Problem> problems =
      options.sizes.empty() ? std::vector<Problem>() : asked_problems(options);
  if (problems.size() != 1) {
    throw UsageError("T4 results are of one problem: name one in --sizes, as in --sizes 1024");
  }
  const std::string arch = target_arch(options);
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
    throw UsageError(fmt::format("T4 results are of one kernel family: name one in --family, of {}",
                                 fmt::join(families, ", ")));
  }
  return rows;
}

std::string rows_as_text(const Options& options) {
  if (options.format == "t4") return t4_text(rows_for_t4(options));
  const std::filesystem::path path = database_path(options);
  const std::optional<std::string> arch =
      options.arch.empty() ? std::nullopt : std::optional(options.arch);
  const LockWait lock = lock_wait(options, path);
  const SlowWork progress(options.quiet, "exporting '" + path.string() + "'");
  return options.format == "json" ? export_as_json(path, arch, current_kernel_hashes(), lock)
                                  : export_as_csv(path, arch, current_kernel_hashes(), lock);
}

}  // namespace

int run_export(const Options& options) {
  const bool is_t4 = options.format == "t4";
  if (!is_t4 && (!options.sizes.empty() || !options.family.empty())) {
    throw UsageError("--sizes and --family are for --format t4: leave them out");
  }
  if (is_t4 || options.format == "json" || options.format == "csv") {
    require_writable(options.output);
    write_output(options.output, rows_as_text(options));
    return kExitOk;
  }
  const bool is_bundle = options.format == "bundle";
  if (is_bundle && (options.output.empty() || options.output == "-")) {
    throw UsageError("a bundle is a folder: name it with -o");
  }
  if (is_bundle && !options.kernel_dir.empty()) {
    throw UsageError("a bundle holds the program's own kernels: leave --kernel-dir out");
  }
  const std::string arch = target_arch(options);
  try {
    export_winners(options, arch);
  } catch (const NothingFound& error) {
    throw NothingFound(with_tune_command(error.what(), options, arch));
  }
  return kExitOk;
}

}  // namespace gemm_tune
