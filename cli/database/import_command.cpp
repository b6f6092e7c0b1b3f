// SPDX-License-Identifier: Apache-2.0
// gemm-tune db import: the rows of an exported JSON or CSV, merged into the database.
#include <spdlog/fmt/fmt.h>

#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/database/merge_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/output_file.h"
#include "cli/output/standard_output.h"
#include "core/files/input_file.h"
#include "db/transfer/exchange.h"
#include "db/validity/validity.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct ImportOptions : DatabaseOptions {
  std::string file;

  void declare(CLI::App& app) {
    add_database(app, *this);
    app.add_option("file", file, "File that export --format json or csv has written")->required();
  }
};

int run_import(const ImportOptions& options) {
  const std::string& file = options.file;
  const std::filesystem::path path = database_path(options);
  const MergeReport merged = [&] {
    const SlowWork progress(options.quiet, "importing '" + file + "'");
    const std::string text = read_text_file(file, "import", kMostImportBytes);
    require_no_journal(path.string());
    if (!is_database_named(options)) create_database_folder(path);
    return import_text(text, file, path, current_revisions(), lock_wait(options.quiet, path));
  }();
  print_merge(merged, path);
  return kExitOk;
}

}  // namespace

void add_db_import(CLI::App& app, Call& call) { attach<ImportOptions>(app, call, run_import); }

}  // namespace gemm_tune
