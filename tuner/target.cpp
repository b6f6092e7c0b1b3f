#include "tuner/target.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "gpu/nvrtc.h"
#include "tuner/protocol.h"
#include "tuner/worker_pool.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kDeviceLimit{60};  // a driver may take seconds to wake its GPUs

struct Probe {
  std::optional<DeviceReply> device;
  std::string failure;
};

Probe probe_gpu(int ordinal) {
  WorkerPool worker(1);
  try {
    return {worker.call("device", DeviceRequest{ordinal}, kDeviceLimit).get<DeviceReply>(), ""};
  } catch (const DeviceError& error) {
    return {std::nullopt, error.what()};
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

DeviceSpec table_spec(const std::string& arch) {
  const std::vector<std::string> supported = nvrtc_supported_archs();
  const std::optional<DeviceSpec> spec = find_device_spec(arch);
  const bool compiles = std::find(supported.begin(), supported.end(), arch) != supported.end();
  if (spec && compiles) return *spec;
  std::vector<std::string> known;
  for (const std::string& candidate : supported) {
    if (find_device_spec(candidate)) known.push_back(candidate);
  }
  throw UsageError("'" + arch + "' is not a target that can be tuned here (NVRTC " +
                   nvrtc_version() + "): use one of " + joined(known));
}

}  // namespace

Target resolve_target(const Options& options) {
  Target target;
  if (!options.arch.empty()) target.spec = table_spec(options.arch);
  Probe probe = probe_gpu(options.device);
  if (probe.device && (options.arch.empty() || probe.device->spec.arch == options.arch)) {
    target.spec = probe.device->spec;
    target.driver_version = probe.device->driver_version;
    target.measurable = true;
  } else if (options.arch.empty()) {
    throw UsageError("without a GPU to ask, name a target with --arch, as in --arch sm_86 (" +
                     probe.failure + ")");
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
  if (options.require_gpu && !target.measurable) {
    throw DeviceError("--require-gpu cannot be met: " + target.why_not);
  }
  return target;
}

std::filesystem::path database_path(const Options& options) {
  if (!options.db.empty()) return options.db;
  return default_database_path(std::getenv("GEMM_TUNE_DB"), std::getenv("XDG_DATA_HOME"),
                               std::getenv("HOME"));
}

}  // namespace gemm_tune
