// SPDX-License-Identifier: Apache-2.0
// Where the code of this process lies: what was installed beside it is found from there. Any
// thread.
#pragma once

#include <filesystem>
#include <optional>

namespace gemm_tune {

// The program's file as Linux knows it, also where another has taken its place since.
inline constexpr const char* kProgramLink = "/proc/self/exe";

// The program's file, without links. Where the link cannot be read, as in a chroot without /proc,
// the file that the program was started by; nullopt where that has no such name any more.
std::optional<std::filesystem::path> own_program(const std::filesystem::path& link = kProgramLink);

// The shared library that holds this code, else the program.
std::optional<std::filesystem::path> own_binary();

}  // namespace gemm_tune
