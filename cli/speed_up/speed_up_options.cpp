// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/speed_up_options.h"

#include <limits>

#include "cli/arguments/checks.h"
#include "cli/arguments/target.h"
#include "cli/arguments/values/share.h"
#include "core/error.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {

void SpeedUpOptions::declare(CLI::App& app) {
  add_drop_in_options(app, *this);
  app.add_option("--time", time, "Time for the search, as in 15:00")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--budget", budget,
                 "Distinct candidates tried per product, or 'all'; default: by the time")
      ->type_name("N");
  CLI::Option* const forgets =
      app.add_flag("--again", again, "Forget what an earlier speed-up of this program has kept");
  CLI::Option* const device =
      app.add_option("--device", target.device, "GPU to tune, by CUDA's number")
          ->check(whole_number(0, 1023))
          ->capture_default_str();
  app.add_option("--devices", target.devices,
                 "GPUs of one model to share the search, as in 0,1, or 'all'")
      ->type_name("LIST")
      ->excludes(device);
  app.add_option("--arch", target.arch,
                 "Without a GPU: rank kernels for this target by prediction, as in sm_86")
      ->type_name("ARCH");
  app.add_option("--jobs", search.jobs,
                 "Compile processes; default: one per usable core, less one for the GPU")
      ->check(whole_number(1, 1024));
  CLI::Option* const running =
      app.add_option(
             "--while-running", while_running,
             "Run no program: tune what a program multiplies that runs under gemm-tune run, "
             "by the number of its process; it takes each winner as it goes on")
          ->type_name("PID")
          ->check(whole_number(1, std::numeric_limits<int>::max()))
          ->excludes(forgets);
  app.add_option(
         "--gpu-share", gpu_share,
         "Share of the GPU's time that --while-running takes, as in 20% or 0.2; default: 20%, and "
         "100% on the GPUs of --devices")
      ->type_name("SHARE")
      ->needs(running);
}

TuneOptions tuning_options(const SpeedUpOptions& o) {
  TuneOptions tuning;
  static_cast<DatabaseOptions&>(tuning) = o;
  static_cast<TargetOptions&>(tuning) = o.target;
  static_cast<SearchOptions&>(tuning) = o.search;
  tuning.time = o.time;
  tuning.budget = o.budget;
  return tuning;
}

Target asked_target(const TargetOptions& options) {
  // Any device stands in for the message, which this command words itself.
  Target target =
      resolve_target(options, {[] { return std::vector{device_key(device_table().front())}; }});
  if (!target.measurable && options.arch.empty()) {
    throw DeviceError("speed-up times kernels on a GPU and cannot: " + target.why_not);
  }
  return target;
}

double gpu_share(const SpeedUpOptions& options) {
  constexpr double kBesideTheProgram = 0.2;
  if (options.gpu_share.empty()) return options.target.devices.empty() ? kBesideTheProgram : 1;
  return parse_share("--gpu-share", options.gpu_share, 0.01);
}

std::string text_of(const DeviceSpec& device) {
  return fmt::format("{} ({}, {} SMs)", device.name, device.arch, device.sm_count);
}

std::string short_name(const std::string& command) {
  constexpr std::size_t kMost = 40;
  if (columns_of(command) <= kMost) return command;
  const std::size_t slash = command.substr(0, command.find(' ')).rfind('/');
  const std::string name = slash == command.npos ? command : "..." + command.substr(slash);
  return columns_of(name) <= kMost ? name : cut_to_columns(name, kMost - 3) + "...";
}

}  // namespace gemm_tune
