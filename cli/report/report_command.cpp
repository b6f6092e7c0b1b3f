// SPDX-License-Identifier: Apache-2.0
// gemm-tune report: writes a page about a database.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "choose/layered.h"
#include "cli/arguments/database.h"
#include "cli/arguments/kernel_dir.h"
#include "cli/commands.h"
#include "cli/help/version.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "core/text/quantity.h"
#include "tuner/report/page/database_summary.h"
#include "tuner/report/page/report_page.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

struct ReportOptions : DatabaseOptions {
  std::string arch, type;  // empty: all
  std::string kernel_dir;
  std::string output = "-";  // "-": standard output

  void declare(CLI::App& app) {
    add_database(app, *this);
    app.add_option("--arch", arch, "Only this architecture, as in sm_86; default: all");
    app.add_option("--type", type,
                   "Only this element type, as in f32 or bf16/bf16/f32/f32; default: all");
    add_kernel_dir(app, kernel_dir);
    app.add_option("-o,--output", output,
                   "File of HTML to write; default, and '-': standard output");
  }
};

// Which rows --arch and --type ask for.
struct Asked {
  std::string arch;  // empty: every one
  std::optional<Signature> type;

  bool has(const DeviceKey& device, const Problem& problem) const {
    return (arch.empty() || device.arch == arch) && (!type || problem.signature == *type);
  }
};

using Place = std::tuple<std::string, std::string, int, std::int64_t, std::int64_t, std::int64_t,
                         std::string>;

// In the order of Database::for_each_stored().
Place place_of(const Record& row) {
  const Problem& p = row.problem;
  return {row.device.arch, row.device.name, row.device.sm_count, p.M, p.N, p.K, to_string(p)};
}

struct StoredRow {
  Record record;
  bool counts;
};

// Few: layers hold winners.
std::map<Place, std::vector<StoredRow>> rows_of_layers(const std::vector<fs::path>& layers) {
  std::map<Place, std::vector<StoredRow>> rows;
  // load_layered_winners() says which were left out.
  read_layers(layers, [&](const Database& database, const fs::path&) {
    std::vector<StoredRow> found;
    database.for_each_stored([&](const Record& row, bool counts) {
      found.push_back({row, counts});
    });
    for (StoredRow& row : found) rows[place_of(row.record)].push_back(std::move(row));
  });
  return rows;
}

// Adds the rows of the user's database and, place by place, those of the layers that it lacks; all
// architectures among them.
std::set<std::string> add_rows(const Database* own, const std::vector<fs::path>& layers,
                               const Asked& asked, DatabaseSummary& summary) {
  std::map<Place, std::vector<StoredRow>> below = rows_of_layers(layers);
  std::set<std::string> archs;
  std::optional<Place> place;
  std::set<std::pair<std::string, std::string>> known;  // of the place: config and moment
  const auto add = [&](const Record& row, bool counts) {
    archs.insert(row.device.arch);
    if (asked.has(row.device, row.problem)) summary.add(row, counts);
  };
  const auto add_below = [&](const Place* next) {  // up to the next place, which may be the end
    while (!below.empty() && (next == nullptr || below.begin()->first < *next)) {
      const auto& [here, rows] = *below.begin();
      for (const auto& [row, counts] : rows) {
        const bool is_known = place == here && known.contains({row.config, row.recorded_at});
        if (!is_known) add(row, counts);
      }
      below.erase(below.begin());
    }
  };
  const auto add_own = [&](const Record& row, bool counts) {
    if (!below.empty()) {
      const Place here = place_of(row);
      if (place != here) {
        add_below(&here);
        known.clear();
        place = here;
      }
      known.emplace(row.config, row.recorded_at);
    }
    add(row, counts);
  };
  if (own != nullptr) own->for_each_stored(add_own);
  add_below(nullptr);
  return archs;
}

nlohmann::json summary_of(const Database* own, const std::vector<fs::path>& layers,
                          const ReportOptions& options, const Asked& asked,
                          const KernelRevisions& revisions) {
  DatabaseSummary summary(revisions);
  const std::set<std::string> archs = add_rows(own, layers, asked, summary);
  if (summary.row_count() == 0 && (!asked.arch.empty() || asked.type)) {
    throw NothingFound("the database has no rows of " +
                       (asked.arch.empty() ? "this type" : excerpt(asked.arch)) +
                       (asked.type && !asked.arch.empty() ? " of this type" : "") +
                       fmt::format(": its architectures are {}", fmt::join(archs, ", ")));
  }
  std::vector<std::string> notes;          // the same for each architecture
  std::map<std::string, Database> opened;  // layers, by path
  const auto database_of = [&](const Winner& winner) -> const Database& {
    if (winner.layer.empty()) return *own;
    const auto entry = opened.find(winner.layer);
    if (entry != opened.end()) return entry->second;
    return opened.emplace(winner.layer, Database(winner.layer, Database::Mode::immutable))
        .first->second;
  };
  for (const std::string& arch : archs) {
    if (!asked.arch.empty() && arch != asked.arch) continue;
    const LayeredWinners all = load_layered_winners(own, layers, arch, revisions);
    notes = all.notes;
    for (const Winner& winner : all.winners) {
      if (!asked.has(winner.record.device, winner.record.problem)) continue;
      summary.set_winner(winner.record, database_of(winner).baselines(winner.record));
    }
  }
  tell_of_layers(notes, options.quiet);
  return summary.json();
}

// "gemm-tune.db", "gemm-tune.db with 2 layers below it", "sm_90-nvidia-h100.db".
std::string name_of(const Database* own, const std::vector<fs::path>& layers) {
  if (own == nullptr) {
    std::string names;
    for (const fs::path& layer : layers) {
      names += (names.empty() ? "" : ", ") + layer.filename().string();
    }
    return printable(names);
  }
  const std::string name = printable(own->path().filename().string());
  if (layers.empty()) return name;
  return name + fmt::format(" with {} below it", counted(std::size(layers), "layer"));
}

int run_report(const ReportOptions& options) {
  require_writable(options.output, {options.kernel_dir, options.db});
  Asked asked{options.arch, {}};
  if (!options.type.empty()) asked.type = parse_signature(options.type);
  const std::vector<fs::path> layers = layers_below(options);
  const std::optional<Database> database = open_above(layers, options);
  const Database* const own = database ? &*database : nullptr;
  const KernelRevisions revisions = asked_revisions(options.kernel_dir);
  nlohmann::json data = [&] {
    const SlowWork progress(options.quiet, "reading " + name_of(own, layers));
    return summary_of(own, layers, options, asked, revisions);
  }();
  data["database"] = name_of(own, layers);
  data["program"] = std::string("gemm-tune ") + kVersion;
  write_result(options.output, report_page(data), options.quiet);
  return kExitOk;
}

}  // namespace

void add_report(CLI::App& app, Call& call) { attach<ReportOptions>(app, call, run_report); }

}  // namespace gemm_tune
