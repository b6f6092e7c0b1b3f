// SPDX-License-Identifier: Apache-2.0
// gemm-tune export: writes the winners of one architecture for another build.
#include "choose/export_header.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/output_file.h"
#include "tuner/app/target.h"

namespace gemm_tune {
int run_export(const Options& options) {
  const std::string arch = target_arch(options);
  const Database database = open_for_reading(options);
  write_output(options.output, export_header(database, arch, hashes_of(asked_kernels(options))));
  return kExitOk;
}

}  // namespace gemm_tune
