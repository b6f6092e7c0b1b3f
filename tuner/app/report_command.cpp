// SPDX-License-Identifier: Apache-2.0
// gemm-tune report: writes a page about a database.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/printable.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/target.h"
#include "tuner/app/version.h"
#include "tuner/report/database_summary.h"
#include "tuner/report/report_page.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

// Which rows --arch and --type ask for.
struct Asked {
  std::string arch;  // empty: every one
  std::optional<Signature> type;

  bool has(const DeviceKey& device, const Problem& problem) const {
    return (arch.empty() || device.arch == arch) && (!type || problem.signature == *type);
  }
};

nlohmann::json summary_of(const Database& database, const Asked& asked,
                          const KernelHashes& hashes) {
  DatabaseSummary summary(hashes);
  database.for_each_stored([&](const Record& row, bool counts) {
    if (asked.has(row.device, row.problem)) summary.add(row, counts);
  });
  std::set<std::string> archs;
  for (const DeviceKey& device : database.devices()) archs.insert(device.arch);
  if (summary.row_count() == 0 && (!asked.arch.empty() || asked.type)) {
    throw NothingFound("the database has no rows of " +
                       (asked.arch.empty() ? "this type" : excerpt(asked.arch)) +
                       (asked.type && !asked.arch.empty() ? " of this type" : "") +
                       fmt::format(": its architectures are {}", fmt::join(archs, ", ")));
  }
  for (const std::string& arch : archs) {
    if (!asked.arch.empty() && arch != asked.arch) continue;
    for (const Record& winner : database.winners(arch, hashes)) {
      if (!asked.has(winner.device, winner.problem)) continue;
      summary.set_winner(winner, database.baselines(winner));
    }
  }
  return summary.json();
}

}  // namespace

int run_report(const Options& options) {
  require_writable(options.output);
  Asked asked{options.arch, {}};
  if (!options.type.empty()) asked.type = parse_signature(options.type);
  const Database database = open_for_reading(options);
  const KernelHashes hashes = hashes_of(asked_kernels(options));
  nlohmann::json data = [&] {
    const SlowWork progress(options.quiet, "reading '" + database.path().string() + "'");
    return summary_of(database, asked, hashes);
  }();
  data["database"] = printable(database.path().filename().string());
  data["program"] = std::string("gemm-tune ") + kVersion;
  write_output(options.output, report_page(data));
  return kExitOk;
}

}  // namespace gemm_tune
