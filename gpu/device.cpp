// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string_view>

#include "gpu/driver.h"
#include "gpu/error.h"

namespace gemm_tune {
namespace {

// What the runtime answers; 0 where it fails.
int answer_of(cudaError_t (*ask)(int*)) {
  int answer = 0;
  if (ask(&answer) == cudaSuccess) return answer;
  cudaGetLastError();
  return 0;
}

// The newest CUDA version that the driver serves, as 1000 * major + 10 * minor; 0 with no driver.
int driver_cuda_version() { return answer_of(cudaDriverGetVersion); }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  GT_CUDA(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

// The figures that the runtime does not report: the table's entry for the architecture, or its last
// entry for an architecture newer than the table.
DeviceSpec table_entry(int major, int minor, const std::string& name) {
  const std::string arch = "sm_" + std::to_string(10 * major + minor);
  if (const auto spec = find_device_spec(arch)) return *spec;
  const auto table = device_table();
  const DeviceSpec& oldest = table.front();
  if (10 * major + minor < oldest.sm()) {
    throw DeviceError("'" + name + "' is " + arch + ": CUDA 13 supports " + oldest.arch +
                      " and newer");
  }
  DeviceSpec spec = table.back();
  spec.arch = arch;
  return spec;
}

}  // namespace

int device_count() { return answer_of(cudaGetDeviceCount); }

std::optional<std::string> parse_driver_version(std::string_view proc_text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...". The words vary; the
  // version is the first word that starts with a digit and has a dot.
  std::istringstream words{std::string(proc_text.substr(0, proc_text.find('\n')))};
  for (std::string word; words >> word;) {
    const bool is_version = word.find('.') != std::string::npos &&
                            std::all_of(word.begin(), word.end(), [](unsigned char c) {
                              return std::isdigit(c) != 0 || c == '.';
                            });
    if (is_version) return word;
  }
  return std::nullopt;
}

std::optional<std::string> driver_version() {
  const int version = driver_cuda_version();
  if (version == 0) return std::nullopt;
  std::ifstream file("/proc/driver/nvidia/version");
  std::ostringstream text;
  text << file.rdbuf();
  if (auto parsed = parse_driver_version(text.str())) return parsed;
  return "for CUDA " + version_text(version);
}

void check_driver() {
  const int version = driver_cuda_version();
  if (version == 0) {
    throw DeviceError("no NVIDIA driver was found: install driver 580 or newer");
  }
  // Any driver of the runtime's major version serves it (CUDA's minor version compatibility).
  if (version / 1000 < CUDART_VERSION / 1000) {
    throw DeviceError("the NVIDIA driver " + driver_version().value_or("") +
                      " is too old (it serves CUDA " + version_text(version) +
                      "): install driver 580 or newer, which CUDA 13 needs");
  }
}

DeviceSpec query_device(int ordinal) {
  check_driver();
  const int count = device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError("there is no CUDA device " + std::to_string(ordinal) + ": " +
                      (count == 0 ? std::string("this machine has none")
                                  : "use 0 to " + std::to_string(count - 1)));
  }
  cudaDeviceProp properties{};
  GT_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  DeviceSpec spec = table_entry(properties.major, properties.minor, properties.name);
  spec.name = properties.name;
  spec.cc_major = properties.major;
  spec.cc_minor = properties.minor;
  spec.sm_count = properties.multiProcessorCount;
  spec.max_threads_per_cta = properties.maxThreadsPerBlock;
  spec.max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  spec.max_ctas_per_sm = properties.maxBlocksPerMultiProcessor;
  spec.registers_per_sm = properties.regsPerMultiprocessor;
  spec.registers_per_cta = properties.regsPerBlock;
  spec.smem_per_sm_bytes = static_cast<int>(properties.sharedMemPerMultiprocessor);
  spec.max_smem_per_cta_bytes = static_cast<int>(properties.sharedMemPerBlockOptin);
  spec.smem_reserved_per_cta_bytes = static_cast<int>(properties.reservedSharedMemPerBlock);
  spec.l2_bytes = properties.l2CacheSize;
  spec.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  spec.clock_mhz = attribute(cudaDevAttrClockRate, ordinal) / 1000;
  // Two transfers per memory clock; the rate is in kHz, the bus in bits.
  spec.dram_gb_per_s = 2.0 * attribute(cudaDevAttrMemoryClockRate, ordinal) *
                       attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8 / 1e6;
  return spec;
}

std::int64_t device_memory_bytes(int ordinal) {
  cudaDeviceProp properties{};
  GT_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  return static_cast<std::int64_t>(properties.totalGlobalMem);
}

std::string device_uuid(int ordinal) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  cudaDeviceProp properties{};
  GT_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  std::string text = "GPU";
  bool is_known = false;
  for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += {kDigits[byte / 16], kDigits[byte % 16]};
    is_known = is_known || byte != 0;
  }
  return is_known ? text : "";
}

// The driver's functions take half the time of the runtime's, 21 of 41 ns, which is half a percent
// of a launch. Where a thread has no context so far, the runtime answers: the driver would report
// an error, which tools show.
int current_device() {
  using CurrentContext = int(void** context);
  using DeviceOfContext = int(int* device);
  static CurrentContext* const current_context =
      driver_function<CurrentContext>("cuCtxGetCurrent", 12000);
  static DeviceOfContext* const device_of_context =
      driver_function<DeviceOfContext>("cuCtxGetDevice", 12000);
  void* context = nullptr;
  int ordinal = 0;
  if (current_context != nullptr && device_of_context != nullptr &&
      current_context(&context) == 0 && context != nullptr && device_of_context(&ordinal) == 0) {
    return ordinal;
  }
  const cudaError_t code = cudaGetDevice(&ordinal);
  if (code != cudaSuccess) check_driver();  // gives a clearer reason than the code
  check_cuda(code, "cudaGetDevice(&ordinal)");
  return ordinal;
}

void set_device(int ordinal) { GT_CUDA(cudaSetDevice(ordinal)); }

}  // namespace gemm_tune
