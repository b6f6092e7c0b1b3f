// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments/target.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "core/text/printable.h"
#include "core/text/shell_quote.h"
#include "tuner/work/own_worker.h"
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

DeviceSpec card_spec(const std::string& name) {
  constexpr std::size_t kNamed = 12;
  const std::vector<DeviceSpec> found = find_cards(name);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw UsageError("'" + excerpt(name) +
                     "' is no card that is known here: name its architecture with --arch, and its "
                     "SMs with --sm-count");
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(found.size(), kNamed); ++i) names.push_back(found[i].name);
  throw UsageError(fmt::format("'{}' may be {}{}: name one", excerpt(name), fmt::join(names, ", "),
                               found.size() > kNamed ? ", ..." : ""));
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
void add_others(GpuProber& prober, const TargetOptions& options, bool all_by_default,
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

int first_ordinal(const TargetOptions& options) {
  if (options.devices.empty()) return options.device;
  return options.devices == "all" ? 0 : parse_ordinals(options.devices).front();
}

std::string text_of(const DeviceKey& device) {
  return fmt::format("{} ({}, {} SMs)", printable(device.name), device.arch, device.sm_count);
}

// How the caller names a target, with an example.
std::string arch_argument(const TargetOptions& options, const std::string& arch) {
  return options.from_python ? "arch, as in arch='" + arch + "'" : "--arch, as in --arch " + arch;
}

// Throws DeviceError if the options demand a GPU that measures.
void require_no_demand(const TargetOptions& options, const std::string& why_not) {
  if (!options.require_gpu && options.devices.empty()) return;
  throw DeviceError((options.require_gpu ? "--require-gpu" : "--devices") +
                    std::string(" cannot be met: ") + why_not);
}

// The target where the options name none and there is no GPU. Throws UsageError.
DeviceSpec stored_target(const TargetOptions& options, const StoredTarget& stored,
                         const std::string& why_no_gpu) {
  std::vector<DeviceKey> devices;
  if (stored.devices) devices = stored.devices();
  if (devices.empty()) {
    throw UsageError("without a GPU to ask, name a target with " + arch_argument(options, "sm_86") +
                     " (" + why_no_gpu + ")");
  }
  const DeviceKey& first = devices.front();
  const bool is_only_arch = std::all_of(devices.begin(), devices.end(), [&](const auto& device) {
    return device.arch == first.arch;
  });
  if (devices.size() == 1 || (is_only_arch && stored.any_of_one_arch)) {
    const std::vector<DeviceSpec> cards = find_cards(first.name);
    const bool is_known = cards.size() == 1 && device_key(cards.front()) == first;
    DeviceSpec spec = is_known ? cards.front() : table_spec(first.arch);
    spec.name = first.name;
    spec.sm_count = first.sm_count;
    return spec;
  }
  std::vector<std::string> names;
  for (const DeviceKey& device : devices) names.push_back(text_of(device));
  const bool is_card = find_cards(first.name).size() == 1 && !options.from_python;
  throw UsageError(fmt::format(
      "the database has results of {}: name a target with {}", fmt::join(names, ", "),
      is_only_arch && is_card ? "--gpu, as in --gpu " + shell_quote(printable(first.name))
                              : arch_argument(options, first.arch)));
}

// stored: nullptr for a node of a job of many machines.
Target find_target(const TargetOptions& options, GpuProber& prober, const StoredTarget* stored) {
  const bool is_node = stored == nullptr;
  const std::optional<DeviceSpec> named = named_target(options);
  const std::string& name_here = options.gpu.empty() ? options.arch : named->name;
  const auto is_named = [&](const DeviceSpec& here) {
    return !named || (options.gpu.empty() ? here.arch : here.name) == name_here;
  };
  Target target;
  if (named) target.spec = *named;
  target.stands_for_arch = named && options.gpu.empty() && options.sm_count == 0;
  const int first = prober.first();
  Probe probe = probe_gpu(prober, first);
  if (probe.device && is_named(probe.device->spec)) {
    target.stands_for_arch = false;
    target.spec = probe.device->spec;
    target.driver_version = probe.device->driver_version;
    target.gpu = probe.device->settings;
    target.ordinals = {first};
    target.uuids = {probe.device->uuid};
    add_others(prober, options, is_node, *probe.device, target);
    target.measurable = true;
  } else if (!named && is_node) {
    throw DeviceError("it has no GPU that can be used (" + probe.failure +
                      "): leave its node out of the job, or, to compile only, name the target of "
                      "every rank with --arch, as in --arch sm_90");
  } else if (!named) {
    require_no_demand(options, probe.failure);
    target.spec = stored_target(options, *stored, probe.failure);
    target.why_not = probe.failure;
  } else if (probe.device) {
    target.why_not = "the GPU here is " + printable(probe.device->spec.name) + " (" +
                     probe.device->spec.arch + "), not " + name_here;
  } else {
    target.why_not = probe.failure;
  }
  if (options.sm_count != 0 && options.sm_count != target.spec.sm_count) {
    target.spec.sm_count = options.sm_count;
    if (target.measurable) target.why_not = "--sm-count is not the GPU's";
    target.measurable = false;
  }
  if (!target.measurable) require_no_demand(options, target.why_not);
  return target;
}

}  // namespace

GpuProber::GpuProber(const TargetOptions& options)
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

std::optional<DeviceSpec> named_target(const TargetOptions& options) {
  if (!options.gpu.empty()) return card_spec(options.gpu);
  return options.arch.empty() ? std::nullopt : std::optional(table_spec(options.arch));
}

Target resolve_target(const TargetOptions& options, const StoredTarget& stored) {
  named_target(options);  // refused before a driver is started
  GpuProber prober(options);
  return find_target(options, prober, &stored);
}

Target node_target(const TargetOptions& options, GpuProber& prober) {
  return find_target(options, prober, nullptr);
}

std::string target_arch(const TargetOptions& options, const StoredTarget& stored) {
  const std::optional<DeviceSpec> named = named_target(options);
  return named ? named->arch : resolve_target(options, stored).spec.arch;
}

}  // namespace gemm_tune
