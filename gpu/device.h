// SPDX-License-Identifier: Apache-2.0
// The GPUs and the driver of this machine, if any.
//
// Only this file asks the CUDA runtime about hardware. A missing driver or GPU is a normal answer
// here (0 devices, no driver version), not a failure; a caller that needs a GPU calls
// check_driver(). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/device/device_spec.h"

namespace gemm_tune {

// The number of usable CUDA devices; 0 if there is no GPU, no driver, or a driver too old for CUDA
// 13. Never throws.
int device_count();

// The driver's version, "580.159.04"; "for CUDA 13.0" if nothing more is known; nullopt without a
// driver.
std::optional<std::string> driver_version();

// Throws DeviceError if there is no driver or the driver is older than CUDA 13 needs (580).
void check_driver();

// The device's own figures. Allocation units and FP32 lanes, which the runtime does not report,
// come from the built-in table. Throws DeviceError for an ordinal that does not exist, and for an
// architecture older than the table.
DeviceSpec query_device(int ordinal);

// The device's total memory, free or in use. Throws CudaError.
std::int64_t device_memory_bytes(int ordinal);

// The device's UUID, the same in every process and container of its machine, as in
// "GPU-0123abcd-4567-89ab-cdef-0123456789ab"; "" where the driver has none. Throws CudaError.
std::string device_uuid(int ordinal);

// The ordinal that launches of the calling thread go to. Throws DeviceError without a device.
int current_device();

// Makes launches of the calling thread go to the device.
void set_device(int ordinal);

// The version in the text of /proc/driver/nvidia/version, or nothing. Pure.
std::optional<std::string> parse_driver_version(std::string_view proc_text);

}  // namespace gemm_tune
