// SPDX-License-Identifier: Apache-2.0
// gemm-tune db merge: brings the rows of several databases together.
#include <spdlog/fmt/fmt.h>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/database/merge_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "cli/output/standard_output.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "db/transfer/merge.h"
#include "db/validity/validity.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct MergeOptions {
  std::string output;
  std::vector<std::string> inputs;
  std::vector<std::string> families;
  bool quiet = false;

  void declare(CLI::App& app) {
    app.add_option("output", output, "Database that gets the rows; a new one is made")->required();
    app.add_option("inputs", inputs, "Databases to read; they do not change")->required();
    add_families(app, families);
    add_quiet(app, quiet);
  }
};

std::string side_text(const Contradiction::Side& side) {
  std::string text = fmt::format("{} in '{}' ({}", to_string(side.disposition),
                                 side.database.string(), side.recorded_at);
  if (side.median_us) text += ", " + duration_text(*side.median_us);
  if (!side.reason.empty()) text += ": " + side.reason;
  return text + ")";
}

std::string text_of(const Contradiction& contradiction) {
  const DeviceKey& device = contradiction.device;
  std::string text =
      fmt::format("contradiction: {} ({}, {} SMs)  {}  {} of kernel {}, {}: ", device.name,
                  device.arch, device.sm_count, contradiction.problem, contradiction.config,
                  contradiction.revision, to_string(contradiction.source));
  for (const Contradiction::Side& side : contradiction.sides) text += side_text(side) + "; ";
  return text + fmt::format("the row of {} counts: {}", contradiction.recorded_at,
                            to_string(contradiction.disposition));
}

}  // namespace

void print_merge(const MergeReport& merged, const std::filesystem::path& output) {
  for (const Contradiction& contradiction : merged.contradictions) {
    print_text(printable(text_of(contradiction)) + "\n");
  }
  print_text(fmt::format("{}: {}, {} of them new\n", printable(output.string()),
                         counted(merged.rows, "row"),
                         grouped(static_cast<std::uint64_t>(merged.added))));
}

namespace {

int run_merge(const MergeOptions& options) {
  require_no_journal(options.output);
  const std::vector<std::filesystem::path> inputs(options.inputs.begin(), options.inputs.end());
  const MergeReport merged = [&] {
    const SlowWork progress(options.quiet, "merging into '" + options.output + "'");
    return merge_databases(inputs, options.output, current_revisions(),
                           lock_wait(options.quiet, options.output));
  }();
  print_merge(merged, options.output);
  return kExitOk;
}

}  // namespace

void add_db_merge(CLI::App& app, Call& call) { attach<MergeOptions>(app, call, run_merge); }

}  // namespace gemm_tune
