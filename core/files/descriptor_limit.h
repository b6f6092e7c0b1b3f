// SPDX-License-Identifier: Apache-2.0
// A system call that failed because too many files are open: the environment's failure, and no
// fault of the file or folder that was to be opened. Any thread.
#pragma once

#include <cerrno>

namespace gemm_tune {

constexpr bool is_descriptor_limit(int error) { return error == EMFILE || error == ENFILE; }

// The end of a sentence.
inline constexpr const char* kRaiseDescriptorLimit = "raise the limit on open files (ulimit -n)";

}  // namespace gemm_tune
