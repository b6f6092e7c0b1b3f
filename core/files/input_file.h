// SPDX-License-Identifier: Apache-2.0
// Files that a user names, read whole up to a bound.
//
// Regular files and pipes, as of `<(command)`, are read. Anything else is refused: a device may
// have no end. A pipe that sends nothing is given up, so that the program never hangs. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace gemm_tune {

inline constexpr std::size_t kMostTextBytes = 16'000'000;  // of sizes, configs or a kernel

// what: the kind of the file for error messages, as in "size file". Throws UsageError, with one
// sentence that names the file, if the file cannot be read, is neither a regular file nor a pipe,
// is longer than `most_bytes`, or is a pipe that sends nothing for as long as `pipe_wait`.
std::string read_input_file(const std::string& path, const std::string& what,
                            std::size_t most_bytes = kMostTextBytes,
                            std::chrono::seconds pipe_wait = std::chrono::seconds(10));

// The same of a text. Throws, too, where the bytes are none in UTF-8: of a compressed file, a
// database or UTF-16 the sentence says what would be right.
std::string read_text_file(const std::string& path, const std::string& what,
                           std::size_t most_bytes = kMostTextBytes);

}  // namespace gemm_tune
