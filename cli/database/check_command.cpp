// SPDX-License-Identifier: Apache-2.0
// gemm-tune db check: checks a database, and the layers below it, for damage.
#include <spdlog/fmt/fmt.h>

#include "choose/layered.h"
#include "cli/arguments/database.h"
#include "cli/database/db_commands.h"
#include "cli/output/exit_code.h"
#include "cli/output/standard_output.h"
#include "core/text/printable.h"
#include "db/file/check.h"
#include "db/layers.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

struct CheckOptions : DatabaseOptions {
  void declare(CLI::App& app) { add_database(app, *this); }
};

// Reads the layers below the database and prints a line for each; whether all can be read.
bool check_layers(const DatabaseOptions& options) {
  bool are_sound = true;
  for (const std::filesystem::path& layer : layers_below(options)) {
    const Layered read = load_layered(nullptr, {layer});
    are_sound = are_sound && read.notes.empty();
    print_text(fmt::format("layer {}: {}\n", printable(layer.string()),
                           read.notes.empty() ? "can be read" : printable(read.notes.front())));
  }
  return are_sound;
}

int run_check(const CheckOptions& options) {
  const std::filesystem::path own = default_database_path_or_none();
  if (is_missing_above(layers_below(options), own)) {
    print_text((own.empty() ? "the user's database" : printable(own.string())) +
               " does not exist: the layers answer alone\n");
    return check_layers(options) ? kExitOk : kExitDatabase;
  }
  const std::filesystem::path path = database_path(options);
  const LockWait lock = lock_wait(options.quiet, path);
  std::vector<std::string> findings, foreign;
  {
    const SlowWork progress(options.quiet, "checking '" + path.string() + "'");
    findings = check_database(path, lock);
    if (findings.empty()) foreign = foreign_objects(path, lock);
  }
  if (findings.empty()) print_text(fmt::format("{} is sound\n", printable(path.string())));
  for (const std::string& finding : findings) print_text(fmt::format("{}\n", printable(finding)));
  if (!findings.empty()) {
    print_text(fmt::format("`{}` keeps the rows that can be read\n", recovery_command(path)));
  }
  for (const std::string& object : foreign) {
    print_text(fmt::format("{} is not gemm-tune's; it is never read\n", printable(object)));
  }
  const bool layers_are_sound = check_layers(options);
  return findings.empty() && layers_are_sound ? kExitOk : kExitDatabase;
}

}  // namespace

void add_db_check(CLI::App& app, Call& call) { attach<CheckOptions>(app, call, run_check); }

}  // namespace gemm_tune
