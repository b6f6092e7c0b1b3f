// SPDX-License-Identifier: Apache-2.0
// gemm-tune db contribute: the winners of each device as a text file, and the check of such files.
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/transfer/contribution.h"
#include "db/transfer/exchange.h"
#include "db/validity/validity.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct ContributeOptions : DatabaseOptions {
  std::string arch;  // empty: all
  std::string output;
  std::vector<std::string> checked;  // files; empty: write some

  void declare(CLI::App& app) {
    add_database(app, *this);
    app.add_option("--arch", arch, "Only this architecture, as in sm_86; default: all");
    app.add_option("-o,--output", output, "Folder for the files; the file of a device is replaced");
    app.add_option("--check", checked, "Write nothing; check these files")->excludes("--output");
  }
};

std::string winners_text(std::int64_t winners, const DeviceKey& device) {
  return printable(fmt::format("{} of {} ({}, {} SMs)", counted(winners, "winner"), device.name,
                               device.arch, device.sm_count));
}

int check_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const CheckedContribution checked = check_contribution(
        read_text_file(file, "contributed", kMostImportBytes), file, current_revisions());
    print_text(
        fmt::format("{}: {}, {}\n", printable(file), winners_text(checked.winners, checked.device),
                    checked.valid == checked.winners
                        ? "all by today's kernels"
                        : fmt::format("{} of them by today's kernels; the others are never chosen",
                                      checked.valid)));
  }
  return kExitOk;
}

int run_contribute(const ContributeOptions& options) {
  if (!options.checked.empty()) return check_files(options.checked);
  if (options.output.empty() || options.output == "-") {
    throw UsageError(
        "db contribute writes a file for each device: name their folder in -o, as in "
        "-o winners");
  }
  require_no_journal(options.output);
  const std::filesystem::path folder = options.output, path = database_path(options);
  const std::vector<Contribution> all = [&] {
    const SlowWork progress(options.quiet, "reading '" + path.string() + "'");
    const std::optional<std::string> arch =
        options.arch.empty() ? std::nullopt : std::optional(options.arch);
    return contributions(path, arch, current_revisions(), lock_wait(options.quiet, path));
  }();
  std::error_code error, ignored;
  std::filesystem::create_directory(folder, error);
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw UsageError("'" + excerpt(options.output) + "' is no folder and cannot be made" +
                     (error ? " (" + error.message() + ")" : std::string()) + ": name one in -o");
  }
  for (const Contribution& one : all) {
    const std::string file = (folder / one.file_name).string();
    write_output(file, one.text);
    print_text(fmt::format("{}: {}\n", printable(file), winners_text(one.winners, one.device)));
  }
  return kExitOk;
}

}  // namespace

void add_db_contribute(CLI::App& app, Call& call) {
  attach<ContributeOptions>(app, call, run_contribute);
}

}  // namespace gemm_tune
