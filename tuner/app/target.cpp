// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/target.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/printable.h"
#include "core/shell_quote.h"
#include "db/layers.h"
#include "tuner/app/own_worker.h"
#include "tuner/work/worker.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kDeviceLimit{60};  // a driver may take seconds to wake its GPUs
constexpr std::chrono::seconds kGreetingLimit{1};
constexpr const char* kDeviceVerb = "device";

struct Probe {
  std::optional<DeviceReply> device;
  std::string failure;
};

Probe probe_gpu(GpuProber& prober, int ordinal) {
  try {
    return {prober.ask(ordinal), ""};
  } catch (const DeviceError& error) {
    return {std::nullopt, error.what()};
  }
}

// A compilation says itself where this NVRTC does not serve the architecture; what compiles nothing
// needs no NVRTC.
DeviceSpec table_spec(const std::string& arch) {
  if (const std::optional<DeviceSpec> spec = find_device_spec(arch)) return *spec;
  std::vector<std::string> known;
  for (const DeviceSpec& spec : device_table()) known.push_back(spec.arch);
  throw UsageError("'" + arch + "' is not a target that can be tuned here: use one of " +
                   fmt::format("{}", fmt::join(known, ", ")));
}

// The numbers in a list like "0,2". Throws UsageError.
std::vector<int> parse_ordinals(const std::string& text) {
  std::vector<int> ordinals;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const int ordinal = parse_number<int>(text.substr(at, comma - at)).value_or(-1);
    const bool repeated = std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end();
    if (ordinal < 0 || repeated) {
      throw UsageError("devices '" + text +
                       "' are not CUDA device numbers, each once: write 'all' or a list as in 0,1");
    }
    ordinals.push_back(ordinal);
    at = comma + 1;
  }
  return ordinals;
}

// The GPUs beside the first must exist and be of its model, because rows are stored by model.
void add_others(GpuProber& prober, const Options& options, bool all_by_default,
                const DeviceReply& first, Target& target) {
  std::vector<int> ordinals;
  const bool names_none = options.devices.empty() && options.device == 0;
  if (options.devices == "all" || (names_none && all_by_default)) {
    for (int i = 1; i < first.device_count; ++i) ordinals.push_back(i);
  } else if (!options.devices.empty()) {
    ordinals = parse_ordinals(options.devices);
    ordinals.erase(ordinals.begin());
  }
  for (const int ordinal : ordinals) {
    const Probe probe = probe_gpu(prober, ordinal);
    if (!probe.device) throw DeviceError(probe.failure);
    if (device_key(probe.device->spec) == device_key(first.spec)) {
      target.ordinals.push_back(ordinal);
      target.uuids.push_back(probe.device->uuid);
      continue;
    }
    throw UsageError("GPU " + std::to_string(ordinal) + " is " + probe.device->spec.name + " (" +
                     std::to_string(probe.device->spec.sm_count) + " SMs), another model than " +
                     first.spec.name + " (" + std::to_string(first.spec.sm_count) +
                     " SMs): name GPUs of one model in --devices");
  }
}

int first_ordinal(const Options& options) {
  if (options.devices.empty()) return options.device;
  return options.devices == "all" ? 0 : parse_ordinals(options.devices).front();
}

// Each once, in the layers' order. A layer that cannot be read has none.
std::vector<DeviceKey> devices_of_layers(const std::vector<std::filesystem::path>& layers) {
  std::vector<DeviceKey> devices;
  for (const std::filesystem::path& layer : layers) {
    try {
      for (const DeviceKey& device : Database(layer, Database::Mode::immutable).devices()) {
        const bool is_new = std::find(devices.begin(), devices.end(), device) == devices.end();
        if (is_new) devices.push_back(device);
      }
    } catch (const DatabaseError&) {
      continue;  // the command tells of it
    }
  }
  return devices;
}

// The devices of the database that a command reads; of a command that needs none, only of one that
// is there.
std::vector<DeviceKey> stored_devices(const Options& options) {
  const bool needs_one =
      options.command == Command::best || options.command == Command::export_winners;
  const bool reads_layers = needs_one || options.command == Command::explain;
  const std::vector<std::filesystem::path> layers =
      reads_layers ? layers_below(options) : std::vector<std::filesystem::path>();
  if (is_missing_above(layers, default_database_path_or_none())) return devices_of_layers(layers);
  std::error_code ignored;
  if (!needs_one && !std::filesystem::exists(database_path(options), ignored)) return {};
  return open_for_reading(options).devices();
}

std::string text_of(const DeviceKey& device) {
  return fmt::format("{} ({}, {} SMs)", device.name, device.arch, device.sm_count);
}

// How the caller names a target, with an example.
std::string arch_argument(const Options& options, const std::string& arch) {
  return options.from_python ? "arch, as in arch='" + arch + "'" : "--arch, as in --arch " + arch;
}

// The target of a command that names none, where there is no GPU: the only device of the database.
// Of several devices the export takes the architecture, if it is the only one. Throws UsageError.
DeviceSpec stored_target(const Options& options, const std::string& why_no_gpu) {
  std::vector<DeviceKey> devices;
  if (options.command != Command::tune) devices = stored_devices(options);
  if (devices.empty()) {
    throw UsageError("without a GPU to ask, name a target with " + arch_argument(options, "sm_86") +
                     " (" + why_no_gpu + ")");
  }
  const DeviceKey& first = devices.front();
  const bool is_only_arch = std::all_of(devices.begin(), devices.end(), [&](const auto& device) {
    return device.arch == first.arch;
  });
  if (devices.size() == 1 || (is_only_arch && options.command == Command::export_winners)) {
    DeviceSpec spec = table_spec(first.arch);
    spec.name = first.name;
    spec.sm_count = first.sm_count;
    return spec;
  }
  std::vector<std::string> names;
  for (const DeviceKey& device : devices) names.push_back(text_of(device));
  throw UsageError(fmt::format("the database has results of {}: name a target with {}",
                               fmt::join(names, ", "), arch_argument(options, first.arch)));
}

Target find_target(const Options& options, GpuProber& prober, bool is_node) {
  Target target;
  if (!options.arch.empty()) target.spec = table_spec(options.arch);
  const int first = prober.first();
  Probe probe = probe_gpu(prober, first);
  if (probe.device && (options.arch.empty() || probe.device->spec.arch == options.arch)) {
    target.spec = probe.device->spec;
    target.driver_version = probe.device->driver_version;
    target.memory_bytes = probe.device->memory_bytes;
    target.gpu = probe.device->settings;
    target.ordinals = {first};
    target.uuids = {probe.device->uuid};
    add_others(prober, options, is_node, *probe.device, target);
    target.measurable = true;
  } else if (options.arch.empty() && is_node) {
    throw DeviceError("it has no GPU that can be used (" + probe.failure +
                      "): leave its node out of the job, or, to compile only, name the target of "
                      "every rank with --arch, as in --arch sm_90");
  } else if (options.arch.empty()) {
    target.spec = stored_target(options, probe.failure);
    target.why_not = probe.failure;
  } else if (probe.device) {
    target.why_not = "the GPU here is " + probe.device->spec.name + " (" + probe.device->spec.arch +
                     "), not " + options.arch;
  } else {
    target.why_not = probe.failure;
  }
  if (options.sm_count != 0 && options.sm_count != target.spec.sm_count) {
    target.spec.sm_count = options.sm_count;
    if (target.measurable) target.why_not = "--sm-count is not the GPU's";
    target.measurable = false;
  }
  if (!target.measurable && (options.require_gpu || !options.devices.empty())) {
    throw DeviceError((options.require_gpu ? "--require-gpu" : "--devices") +
                      std::string(" cannot be met: ") + target.why_not);
  }
  return target;
}

}  // namespace

GpuProber::GpuProber(const Options& options)
    : first_(first_ordinal(options)), pool_({probing_worker(own_worker())}) {
  pool_.submit({kDeviceVerb, DeviceRequest{first_}, kDeviceLimit, false,
                [this](TaskResult result) { result_ = std::move(result); }});
  WorkerPool::wait({&pool_}, kGreetingLimit);  // the request leaves once the worker is there
}

DeviceReply GpuProber::ask(int ordinal) {
  if (ordinal != first_) {
    return pool_.call(kDeviceVerb, DeviceRequest{ordinal}, kDeviceLimit).get<DeviceReply>();
  }
  while (!result_) WorkerPool::wait({&pool_}, kDeviceLimit);
  return WorkerPool::reply_of(kDeviceVerb, *result_).get<DeviceReply>();
}

Target resolve_target(const Options& options) {
  if (!options.arch.empty()) table_spec(options.arch);  // refused before a driver is started
  GpuProber prober(options);
  return find_target(options, prober, /*is_node=*/false);
}

Target node_target(const Options& options, GpuProber& prober) {
  return find_target(options, prober, /*is_node=*/true);
}

std::string target_arch(const Options& options) {
  return options.arch.empty() ? resolve_target(options).spec.arch : table_spec(options.arch).arch;
}

std::vector<KernelText> asked_kernels(const Options& options, std::span<const Problem> problems) {
  const std::optional<KernelSources> users = users_kernels(options, problems);
  return users ? kernel_texts(*users) : kernel_texts();
}

std::optional<KernelSources> users_kernels(const Options& options,
                                           std::span<const Problem> problems) {
  if (options.kernel_dir.empty()) return std::nullopt;
  require_utf8("the kernel folder", options.kernel_dir);
  std::vector<Signature> needed = {Signature()};
  for (const Problem& problem : problems) needed.push_back(problem.signature);
  return kernel_sources(options.kernel_dir, needed);
}

std::filesystem::path database_path(const Options& options) {
  if (!options.db.empty()) return options.db;
  return default_database_path();
}

LockWait lock_wait(const Options& options, const std::filesystem::path& path) {
  constexpr std::chrono::seconds kLimit{30};
  if (options.quiet) return LockWait(kLimit);
  return LockWait(kLimit, [text = path.string(), kLimit] {
    fmt::print(stderr, "gemm-tune: waiting up to {} s for another process that has locked '{}'\n",
               kLimit.count(), printable(text));
  });
}

std::string with_tune_command(const std::string& sentence, const Options& options,
                              const std::string& arch) {
  const bool advises = sentence.ends_with("tune first") || sentence.ends_with("tune for it first");
  if (!advises) return sentence;
  std::string command = "gemm-tune";
  const auto add = [&](const char* option, const std::string& value,
                       const std::string& usual = "") {
    if (value != usual && !value.empty())
      command += fmt::format(" {} {}", option, shell_quote(value));
  };
  add("--arch", options.arch.empty() ? arch : options.arch);
  add("--sizes", options.sizes.empty() ? "1024,4096" : options.sizes);
  add("--type", options.type, "f32");
  add("--layout", options.layout, "nn");
  add("--batch", std::to_string(options.batch), "1");
  add("--kernel-dir", options.kernel_dir);
  add("--db", options.db);
  return sentence + ", as in " + command;
}

bool is_database_named(const Options& options) {
  const char* const variable = std::getenv("GEMM_TUNE_DB");
  return !options.db.empty() || (variable != nullptr && *variable != '\0');
}

std::vector<std::filesystem::path> layers_below(const Options& options) {
  if (!options.db.empty()) return {};
  return layer_files(default_layer_folders());
}

std::optional<Database> open_above(const std::vector<std::filesystem::path>& layers,
                                   const Options& options) {
  if (is_missing_above(layers, default_database_path_or_none())) return std::nullopt;
  return open_for_reading(options);
}

void tell_of_layers(const std::vector<std::string>& notes, const Options& options) {
  if (options.quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "gemm-tune: {}\n", printable(note));
}

Database open_for_reading(const Options& options) {
  const std::filesystem::path path = database_path(options);
  try {
    return Database(path, Database::Mode::read_only, lock_wait(options, path));
  } catch (const DatabaseError& error) {
    throw DatabaseError(with_tune_command(error.what(), options));
  }
}

}  // namespace gemm_tune
