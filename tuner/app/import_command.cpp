// SPDX-License-Identifier: Apache-2.0
// gemm-tune db import: the rows of an exported JSON or CSV, merged into the database.
#include <spdlog/fmt/fmt.h>

#include "core/input_file.h"
#include "db/exchange.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/merge_text.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {

int run_db_import(const Options& options) {
  const std::string& file = options.inputs.at(0);
  const std::filesystem::path path = database_path(options);
  const MergeReport merged = [&] {
    const SlowWork progress(options.quiet, "importing '" + file + "'");
    const std::string text = read_input_file(file, "import", kMostImportBytes);
    if (options.db.empty()) create_database_folder(path);
    return import_text(text, file, path, current_kernel_hashes(), lock_wait(options, path));
  }();
  print_merge(merged, path);
  return kExitOk;
}

}  // namespace gemm_tune
