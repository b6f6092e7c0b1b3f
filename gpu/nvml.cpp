// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

namespace gemm_tune {
namespace {

// The part of NVML's binary interface that this file uses, as nvml.h declares it. Repeated here
// because no CUDA package of the build has that header.
namespace abi {

using Device = struct DeviceHandle*;
using Status = int;  // enumerations are int in C
constexpr Status kSuccess = 0;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kMostNameBytes = 96;
constexpr unsigned kGpuTemperature = 0;

struct Process {  // nvmlProcessInfo_t of the _v3 functions
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

using Init = Status();
using Shutdown = Status();
using HandleByPciBusId = Status(const char*, Device*);
using ClockInfo = Status(Device, unsigned, unsigned*);
using PowerUsage = Status(Device, unsigned*);  // in milliwatts
using Name = Status(Device, char*, unsigned);
using Temperature = Status(Device, unsigned, unsigned*);
using ClocksEventReasons = Status(Device, unsigned long long*);
using ComputeProcesses = Status(Device, unsigned*, Process*);

}  // namespace abi

template <class Function>
Function* find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

std::optional<ProcessInfo> process_info(unsigned pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_proc_stat(text);
}

}  // namespace

struct Nvml::Impl {
  explicit Impl(int ordinal) {
    std::array<char, 32> bus_id{};
    if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), ordinal) !=
        cudaSuccess) {
      cudaGetLastError();
      return;
    }
    const auto init = find<abi::Init>(library, "nvmlInit_v2");
    is_initialized = init != nullptr && init() == abi::kSuccess;
    const auto by_bus_id = find<abi::HandleByPciBusId>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    if (!is_initialized || by_bus_id == nullptr) return;
    if (by_bus_id(bus_id.data(), &device) != abi::kSuccess) device = nullptr;
  }
  ~Impl() {
    const auto shutdown = find<abi::Shutdown>(library, "nvmlShutdown");
    if (is_initialized && shutdown != nullptr) shutdown();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Whether the function exists, the device is known, and the call succeeds.
  template <class Function, class... Args>
  bool ask(Function* function, Args... args) const {
    return device != nullptr && function != nullptr && function(device, args...) == abi::kSuccess;
  }

  // Never closed: another user of NVML in this process may have it open as well.
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  abi::ClockInfo* clock_info = find<abi::ClockInfo>(library, "nvmlDeviceGetClockInfo");
  abi::PowerUsage* power_usage = find<abi::PowerUsage>(library, "nvmlDeviceGetPowerUsage");
  abi::ClockInfo* most_clock = find<abi::ClockInfo>(library, "nvmlDeviceGetMaxClockInfo");
  abi::PowerUsage* power_limit = find<abi::PowerUsage>(library, "nvmlDeviceGetEnforcedPowerLimit");
  abi::Name* name = find<abi::Name>(library, "nvmlDeviceGetName");
  abi::Temperature* temperature = find<abi::Temperature>(library, "nvmlDeviceGetTemperature");
  abi::ClocksEventReasons* event_reasons =
      find<abi::ClocksEventReasons>(library, "nvmlDeviceGetCurrentClocksEventReasons");
  abi::ComputeProcesses* compute_processes =
      find<abi::ComputeProcesses>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  bool is_initialized = false;
  abi::Device device = nullptr;
};

Nvml::Nvml(int ordinal) : impl_(std::make_unique<Impl>(ordinal)) {}
Nvml::~Nvml() = default;
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

std::optional<GpuConditions> Nvml::conditions() const {
  unsigned mhz = 0, milliwatts = 0, celsius = 0;
  if (!impl_->ask(impl_->clock_info, abi::kSmClock, &mhz) ||
      !impl_->ask(impl_->power_usage, &milliwatts) ||
      !impl_->ask(impl_->temperature, abi::kGpuTemperature, &celsius)) {
    return std::nullopt;
  }
  return GpuConditions{static_cast<int>(mhz), milliwatts / 1000.0, static_cast<int>(celsius)};
}

GpuSettings Nvml::settings() const {
  GpuSettings settings;
  unsigned value = 0;
  if (impl_->ask(impl_->power_limit, &value)) settings.power_limit_w = value / 1000.0;
  if (impl_->ask(impl_->most_clock, abi::kMemoryClock, &value)) {
    settings.memory_mhz = static_cast<int>(value);
  }
  std::array<char, abi::kMostNameBytes + 1> name{};
  if (impl_->ask(impl_->name, name.data(), abi::kMostNameBytes)) {
    settings.mig_slice = mig_slice_of(name.data());
  }
  return settings;
}

std::string mig_slice_of(std::string_view device_name) {
  constexpr std::string_view kMark = " MIG ";
  const std::size_t at = device_name.find(kMark);
  return at == device_name.npos ? "" : std::string(device_name.substr(at + kMark.size()));
}

std::string Nvml::slowdown() const {
  unsigned long long reasons = 0;
  return impl_->ask(impl_->event_reasons, &reasons) ? slowdown_text(reasons) : "";
}

std::vector<std::string> Nvml::other_processes() const {
  std::array<abi::Process, 256> listed{};
  auto count = static_cast<unsigned>(listed.size());
  if (!impl_->ask(impl_->compute_processes, &count, listed.data())) return {};
  const auto self_pid = static_cast<unsigned>(::getpid());
  const std::optional<ProcessInfo> self = process_info(self_pid);
  bool lists_self = false;
  std::vector<ProcessInfo> processes;
  for (unsigned i = 0; i < count; ++i) {
    lists_self |= listed[i].pid == self_pid;
    if (auto info = process_info(listed[i].pid)) processes.push_back(*std::move(info));
  }
  if (!self || !lists_self) return {};
  return others_among(processes, *self);
}

std::string slowdown_text(std::uint64_t clock_event_reasons) {
  struct Reason {
    std::uint64_t bit;
    const char* text;
  };
  static constexpr Reason kReasons[] = {{0x40, "hardware thermal slowdown"},
                                        {0x80, "power brake"},
                                        {0x20, "software thermal slowdown"},
                                        // Last: NVML sets it together with the other hardware
                                        // reasons.
                                        {0x08, "hardware slowdown"}};
  for (const Reason& reason : kReasons) {
    if ((clock_event_reasons & reason.bit) != 0) return reason.text;
  }
  return "";
}

std::optional<ProcessInfo> parse_proc_stat(std::string_view stat) {
  // "4242 (python3) S 17 ..."; the name may hold blanks and parentheses.
  const std::size_t open = stat.find(" (");
  const std::size_t close = stat.rfind(") ");
  if (open == stat.npos || close == stat.npos || close < open + 2) return std::nullopt;
  ProcessInfo info;
  info.name = stat.substr(open + 2, close - open - 2);
  const auto read = [stat](std::size_t from, int& value) {
    const char* const end = stat.data() + stat.size();
    return from < stat.size() && std::from_chars(stat.data() + from, end, value).ec == std::errc();
  };
  // After ") " one letter of state and a blank.
  if (!read(0, info.pid) || !read(close + 4, info.parent)) return std::nullopt;
  return info;
}

std::vector<std::string> others_among(const std::vector<ProcessInfo>& processes,
                                      const ProcessInfo& self) {
  std::vector<std::string> others;
  for (const ProcessInfo& one : processes) {
    const bool is_of_this_run =
        one.pid == self.pid || one.pid == self.parent || one.parent == self.parent;
    if (!is_of_this_run) others.push_back(one.name + " (pid " + std::to_string(one.pid) + ")");
  }
  return others;
}

}  // namespace gemm_tune
