// SPDX-License-Identifier: Apache-2.0
// The GPUs and the driver that are there, if any.
//
// The only place that asks the CUDA runtime about hardware. A machine with no driver or no GPU is
// an answer here (0 devices, no driver version), not a failure; whoever needs a GPU says so with
// check_driver(). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/device_spec.h"

namespace gemm_tune {

// CUDA devices that can be used; 0 where there is no driver, an older one than CUDA 13 needs, or no
// GPU. Never throws.
int device_count();

// The driver's version, "580.159.04"; "for CUDA 13.0" where only that can be found out; nothing
// without a driver.
std::optional<std::string> driver_version();

// Throws DeviceError where there is no driver or it is older than CUDA 13 needs (580).
void check_driver();

// The device's own figures; what the runtime does not tell (allocation units, FP32 lanes) comes
// from the built-in table. Throws DeviceError for an ordinal that does not exist, and for an
// architecture older than the table.
DeviceSpec query_device(int ordinal);

// The device's memory in all, used or not. Throws CudaError.
std::int64_t device_memory_bytes(int ordinal);

// The ordinal that launches of the calling thread go to. Throws DeviceError without a device.
int current_device();

// Makes launches of the calling thread go to the device.
void set_device(int ordinal);

// The version in the text of /proc/driver/nvidia/version, or nothing. Pure.
std::optional<std::string> parse_driver_version(std::string_view proc_text);

}  // namespace gemm_tune
