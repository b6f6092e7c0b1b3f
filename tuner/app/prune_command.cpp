// SPDX-License-Identifier: Apache-2.0
// gemm-tune db prune: a new database without the rows that are not wanted any more.
#include <spdlog/fmt/fmt.h>

#include <optional>

#include "core/error.h"
#include "core/printable.h"
#include "db/prune.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

std::string prune_text(const PruneReport& report, const std::filesystem::path& database,
                       const std::optional<std::filesystem::path>& output) {
  std::string text;
  std::int64_t removed = 0;
  for (const auto& [reason, rows] : report.removed) {
    text += fmt::format("{}: {}\n", printable(reason), rows_text(rows));
    removed += rows;
  }
  const std::string counts = fmt::format("{} left out, {} kept", rows_text(removed),
                                         grouped(static_cast<std::uint64_t>(report.kept)));
  if (!output) return text + counts + "; nothing is written without --output NEW\n";
  return text +
         fmt::format("{} in {}; {} is unchanged\n", counts, output->string(), database.string());
}

}  // namespace

int run_db_prune(const Options& options) {
  const PruneRule rule{options.stale, options.failures, options.of};
  if (!rule.stale && !rule.failures && rule.of.empty()) {
    throw UsageError(
        "db prune needs the rows to leave out: --stale, --failures, or --of with a device's name "
        "or "
        "architecture");
  }
  const std::filesystem::path path = database_path(options);
  std::optional<std::filesystem::path> output;
  if (options.output != "-") output = options.output;
  const PruneReport report = [&] {
    const SlowWork progress(options.quiet, "pruning '" + path.string() + "'");
    return prune_database(path, rule, current_kernel_hashes(), output, lock_wait(options, path));
  }();
  print_text(prune_text(report, path, output));
  return kExitOk;
}

}  // namespace gemm_tune
