// SPDX-License-Identifier: Apache-2.0
// gemm-tune db contribute: the winners of each device as a text file, and the check of such files.
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/input_file.h"
#include "core/printable.h"
#include "db/contribution.h"
#include "db/exchange.h"
#include "db/validity.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

std::string winners_text(std::int64_t winners, const DeviceKey& device) {
  return printable(fmt::format("{} winner{} of {} ({}, {} SMs)", winners, winners == 1 ? "" : "s",
                               device.name, device.arch, device.sm_count));
}

int check_files(const Options& options) {
  for (const std::string& file : options.inputs) {
    const CheckedContribution checked = check_contribution(
        read_input_file(file, "contributed", kMostImportBytes), file, current_kernel_hashes());
    print_text(
        fmt::format("{}: {}, {}\n", printable(file), winners_text(checked.winners, checked.device),
                    checked.valid == checked.winners
                        ? "all by today's kernels"
                        : fmt::format("{} of them by today's kernels; the others are never chosen",
                                      checked.valid)));
  }
  return kExitOk;
}

}  // namespace

int run_db_contribute(const Options& options) {
  if (!options.inputs.empty()) return check_files(options);
  if (options.output == "-") {
    throw UsageError(
        "db contribute writes a file for each device: name their folder in -o, as in "
        "-o winners");
  }
  const std::filesystem::path folder = options.output, path = database_path(options);
  const std::vector<Contribution> all = [&] {
    const SlowWork progress(options.quiet, "reading '" + path.string() + "'");
    const std::optional<std::string> arch =
        options.arch.empty() ? std::nullopt : std::optional(options.arch);
    return contributions(path, arch, current_kernel_hashes(), lock_wait(options, path));
  }();
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (!std::filesystem::is_directory(folder, error)) {
    throw UsageError("'" + excerpt(options.output) +
                     "' is no folder and cannot be made: name one in -o");
  }
  for (const Contribution& one : all) {
    const std::string file = (folder / one.file_name).string();
    write_output(file, one.text);
    print_text(fmt::format("{}: {}\n", printable(file), winners_text(one.winners, one.device)));
  }
  return kExitOk;
}

}  // namespace gemm_tune
