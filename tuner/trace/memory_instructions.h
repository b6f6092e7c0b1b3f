// SPDX-License-Identifier: Apache-2.0
// Which memory instructions a kernel has, in its PTX and in its machine code.
//
// ptxas makes machine code of PTX. It unrolls loops, and it may merge neighbouring accesses: then
// the addresses of the PTX are not those of the machine code. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/trace/ptx.h"

namespace gemm_tune::ptx {

enum class MemoryInstruction {
  global_load,
  global_store,
  shared_load,
  shared_store,
  copy_async,    // cp.async, of any width
  load_matrices  // ldmatrix
};

std::string_view to_string(MemoryInstruction instruction);

// Instructions by the bytes of a lane; 0 for copy_async and load_matrices.
using InstructionCounts = std::map<std::pair<MemoryInstruction, int>, int>;

InstructionCounts memory_instructions(const Kernel& kernel);

// Those of the function in a cubin for sm_75 or later, without those that never run. The encoding
// is not documented by NVIDIA; it was read off `nvdisasm -hex` for sm_75 to sm_120 (CUDA 13.0).
// Throws Error where the bytes are no cubin with this function.
InstructionCounts memory_instructions(std::string_view cubin, std::string_view function = "gemm");

// Where the machine code has fewer instructions of some width than the PTX, or such of another
// width: "32 of 4 bytes in the PTX, 4 in the machine code". Unrolled loops have more.
std::map<MemoryInstruction, std::string> merged_accesses(const InstructionCounts& ptx,
                                                         const InstructionCounts& machine_code);

}  // namespace gemm_tune::ptx
