// SPDX-License-Identifier: Apache-2.0
// gemm-tune db merge: brings the rows of several databases together.
#include <spdlog/fmt/fmt.h>

#include "core/printable.h"
#include "db/merge.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/merge_text.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"

namespace gemm_tune {
namespace {

std::string side_text(const Contradiction::Side& side) {
  std::string text = fmt::format("{} in '{}' ({}", to_string(side.disposition),
                                 side.database.string(), side.recorded_at);
  if (side.median_us) text += fmt::format(", {:.4g} us", *side.median_us);
  if (!side.reason.empty()) text += ": " + side.reason;
  return text + ")";
}

std::string text_of(const Contradiction& contradiction) {
  const DeviceKey& device = contradiction.device;
  std::string text =
      fmt::format("contradiction: {} ({}, {} SMs)  {}  {} of kernel {}, {}: ", device.name,
                  device.arch, device.sm_count, contradiction.problem, contradiction.config,
                  contradiction.kernel_hash, to_string(contradiction.source));
  for (const Contradiction::Side& side : contradiction.sides) text += side_text(side) + "; ";
  return text + fmt::format("the row of {} counts: {}", contradiction.recorded_at,
                            to_string(contradiction.disposition));
}

}  // namespace

void print_merge(const MergeReport& merged, const std::filesystem::path& output) {
  for (const Contradiction& contradiction : merged.contradictions) {
    print_text(printable(text_of(contradiction)) + "\n");
  }
  print_text(fmt::format("{}: {}, {} of them new\n", output.string(), rows_text(merged.rows),
                         grouped(static_cast<std::uint64_t>(merged.added))));
}

int run_db_merge(const Options& options) {
  const std::vector<std::filesystem::path> inputs(options.inputs.begin(), options.inputs.end());
  const MergeReport merged = [&] {
    const SlowWork progress(options.quiet, "merging into '" + options.output + "'");
    return merge_databases(inputs, options.output, current_kernel_hashes(),
                           lock_wait(options, options.output));
  }();
  print_merge(merged, options.output);
  return kExitOk;
}

}  // namespace gemm_tune
