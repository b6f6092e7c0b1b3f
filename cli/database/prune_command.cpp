// SPDX-License-Identifier: Apache-2.0
// gemm-tune db prune: a new database without the rows that are not wanted any more.
#include <spdlog/fmt/fmt.h>

#include <optional>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "cli/output/standard_output.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/transfer/prune.h"
#include "db/validity/validity.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct PruneOptions : DatabaseOptions {
  PruneRule rule;
  std::string output;  // empty: nothing is written

  void declare(CLI::App& app) {
    add_database(app, *this);
    app.add_option("-o,--output", output, "New file to write");
    app.add_flag("--stale", rule.stale, "Leave out the rows of kernels that have changed since");
    app.add_flag("--failures", rule.failures, "Leave out the rows of failed candidates");
    app.add_option("--of", rule.of,
                   "Leave out the rows of this device or architecture; repeatable");
  }
};

std::string prune_text(const PruneReport& report, const std::filesystem::path& database,
                       const std::optional<std::filesystem::path>& output) {
  std::string text;
  std::int64_t removed = 0;
  for (const auto& [reason, rows] : report.removed) {
    text += fmt::format("{}: {}\n", printable(reason), counted(rows, "row"));
    removed += rows;
  }
  const std::string counts = fmt::format("{} left out, {} kept", counted(removed, "row"),
                                         grouped(static_cast<std::uint64_t>(report.kept)));
  if (!output) return text + counts + "; nothing is written without --output NEW\n";
  return text + fmt::format("{} in {}; {} is unchanged\n", counts, printable(output->string()),
                            printable(database.string()));
}

int run_prune(const PruneOptions& options) {
  const PruneRule& rule = options.rule;
  if (!rule.stale && !rule.failures && rule.of.empty()) {
    throw UsageError(
        "db prune needs the rows to leave out: --stale, --failures, or --of with a device's name "
        "or "
        "architecture");
  }
  const std::filesystem::path path = database_path(options);
  std::optional<std::filesystem::path> output;
  if (!options.output.empty() && options.output != "-") output = options.output;
  if (output) require_no_journal(options.output);
  const PruneReport report = [&] {
    const SlowWork progress(options.quiet, "pruning '" + path.string() + "'");
    return prune_database(path, rule, current_revisions(), output, lock_wait(options.quiet, path));
  }();
  print_text(prune_text(report, path, output));
  return kExitOk;
}

}  // namespace

void add_db_prune(CLI::App& app, Call& call) { attach<PruneOptions>(app, call, run_prune); }

}  // namespace gemm_tune
