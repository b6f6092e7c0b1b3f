// SPDX-License-Identifier: Apache-2.0
// The machine code of a cubin: its functions, without names, paths and notes.
//
// Two cubins for one target behave alike if their machine code is equal, whatever their sources.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace gemm_tune {

// The names and contents of the functions' sections: the instructions (.text.*) and the arguments'
// constants (.nv.constant0.*). Not the data of constexpr arrays that a compiler leaves in a cubin:
// no kernel reads the sentences of a family's rules. Empty if the bytes are not a cubin: a 64-bit
// ELF file with an intact section table.
std::string machine_code(std::string_view cubin);

// The instructions of one function. Empty if the bytes are no cubin that has it.
std::string_view function_code(std::string_view cubin, std::string_view function);

}  // namespace gemm_tune
