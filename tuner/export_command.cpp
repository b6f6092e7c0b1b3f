// SPDX-License-Identifier: Apache-2.0
// gemm-tune export: the winners of one architecture for another build.
#include "db/export_header.h"
#include "tuner/commands.h"
#include "tuner/exit_code.h"
#include "tuner/output_file.h"
#include "tuner/target.h"

namespace gemm_tune {
int run_export(const Options& options) {
  const std::string arch = target_arch(options);
  const Database database = open_for_reading(options);
  write_output(options.output, export_header(database, arch, hashes_of(asked_kernels(options))));
  return kExitOk;
}

}  // namespace gemm_tune
