// SPDX-License-Identifier: Apache-2.0
// gemm-tune export: writes the winners of one architecture for another build.
#include "choose/export_header.h"
#include "core/error.h"
#include "tuner/app/bundle.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/target.h"

namespace gemm_tune {

namespace {

void export_winners(const Options& options, const std::string& arch, const Database& database) {
  const WinnerRule rule = winner_rule(options);
  if (options.format == "bundle") {
    write_bundle(export_kernels(database, arch, current_kernel_hashes(), rule), arch,
                 options.output, options.quiet);
    return;
  }
  write_output(options.output,
               export_header(database, arch, hashes_of(asked_kernels(options)), rule));
}

}  // namespace

int run_export(const Options& options) {
  const bool is_bundle = options.format == "bundle";
  if (is_bundle && (options.output.empty() || options.output == "-")) {
    throw UsageError("a bundle is a folder: name it with -o");
  }
  if (is_bundle && !options.kernel_dir.empty()) {
    throw UsageError("a bundle holds the program's own kernels: leave --kernel-dir out");
  }
  const std::string arch = target_arch(options);
  const Database database = open_for_reading(options);
  try {
    export_winners(options, arch, database);
  } catch (const NothingFound& error) {
    throw NothingFound(with_tune_command(error.what(), options, arch));
  }
  return kExitOk;
}

}  // namespace gemm_tune
