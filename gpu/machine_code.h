// SPDX-License-Identifier: Apache-2.0
// What a cubin executes: its instructions and constants, without names, paths and notes.
//
// Two cubins of one target and with equal machine code run alike, whatever their texts were called.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gemm_tune {

// The contents of the sections that the GPU reads (.text.*, .nv.constant*, .nv.global*,
// .nv.shared*, and .nv.info* with the launch's requirements), each after its name. Empty where the
// bytes are no cubin: a 64-bit ELF file with its section table in place.
std::string machine_code(std::string_view cubin);

}  // namespace gemm_tune
