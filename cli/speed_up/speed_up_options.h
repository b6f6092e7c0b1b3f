// SPDX-License-Identifier: Apache-2.0
// The options of `gemm-tune speed-up`, and what both of its ways make of them: a program that it
// runs itself, and one that runs already.
//
// Values; no thread rule.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <string>
#include <utility>

#include "cli/arguments/shared_options.h"
#include "cli/capture/under_drop_in.h"
#include "cli/tune/tune_options.h"
#include "core/text/printable.h"
#include "tuner/plan/target.h"

namespace gemm_tune {

struct SpeedUpOptions : DropInOptions {
  std::string time = "10:00";
  std::string budget;
  TargetOptions target;
  SearchOptions search;
  bool again = false;
  int while_running = 0;  // a process; 0: the program is run
  std::string gpu_share;  // empty: the default one

  void declare(CLI::App& app);
};

TuneOptions tuning_options(const SpeedUpOptions& options);

// The GPU here, or the target that --arch names. Throws DeviceError where there is neither.
Target asked_target(const TargetOptions& options);

// The share of the GPU's time that a search beside a running program takes: --gpu-share, else all
// of it where --devices names the GPUs, else a fifth. Throws UsageError for a text that is none.
double gpu_share(const SpeedUpOptions& options);

// "NVIDIA H100 80GB HBM3 (sm_90, 132 SMs)".
std::string text_of(const DeviceSpec& device);

// To name the program in a sentence: a long command without its program's folder, and cut.
std::string short_name(const std::string& command);

// Sentences on stderr: standard output is the program's. The first also for a quiet user.
template <class... Values>
void tell_all(fmt::format_string<Values...> form, Values&&... values) {
  std::string text = fmt::format(form, std::forward<Values>(values)...);
  if (!text.ends_with('\n')) text += '\n';
  std::fputs(printable_lines(text).c_str(), stderr);
  std::fflush(stderr);
}
template <class... Values>
void tell(const SpeedUpOptions& options, fmt::format_string<Values...> form, Values&&... values) {
  if (!options.quiet) tell_all(form, std::forward<Values>(values)...);
}

}  // namespace gemm_tune
