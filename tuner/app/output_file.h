// SPDX-License-Identifier: Apache-2.0
// The files that a user names for what a command writes: export -o, explain --cubin, replay
// --trace.
//
// A regular file is replaced whole or stays as it was: the bytes go to a file with a fresh name in
// the same folder, which is then renamed. A symbolic link stays a link, and its target is replaced.
// A device, a FIFO or another open file of the process (/dev/fd/3) is written to; "-" and the file
// that standard output goes to are standard output. A database is never replaced. Stateless; one
// thread.
#pragma once

#include <string>
#include <string_view>

#include "tuner/app/standard_output.h"

namespace gemm_tune {

// Throws UsageError, with what would be right, where the path names nothing that can be written.
// For a look before long work; the file is not touched.
void require_writable(const std::string& path);

// Throws as require_writable() does, and OutputError where writing itself fails.
void write_output(const std::string& path, std::string_view bytes);

}  // namespace gemm_tune
