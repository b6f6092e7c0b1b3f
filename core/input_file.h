// SPDX-License-Identifier: Apache-2.0
// Files that a user names, read whole up to a bound.
//
// A device has no end, a pipe without a writer no beginning: neither may hold the program for ever.
// Regular files and pipes are read, as of `<(command)`; anything else is refused. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace gemm_tune {

inline constexpr std::size_t kMostTextBytes = 16'000'000;  // of sizes, configs or a kernel

// what: how a refusal calls the file, as in "size file". Throws UsageError, with one sentence that
// names the file, where it cannot be read, is neither a regular file nor a pipe, is longer than
// `most_bytes`, or is a pipe that sends nothing for ten seconds.
std::string read_input_file(const std::string& path, const std::string& what,
                            std::size_t most_bytes = kMostTextBytes);

}  // namespace gemm_tune
