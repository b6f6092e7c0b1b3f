// SPDX-License-Identifier: Apache-2.0
// Standard output as results need it: what could not be written is reported, once, at the end.
//
// A reader that has left (`| head`) ends the program by SIGPIPE, as it ends others; where a parent
// has that signal ignored, the write fails and is reported like a full disk. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/error.h"

namespace gemm_tune {

// A standard stream that was closed when the program began gets a descriptor that cannot be used
// the way the stream is, so that a file opened later does not become it. Before all else.
void occupy_standard_streams();

// As core/printable.h shows lines: names and reasons may come from anybody's files.
void print_text(std::string_view text);

// Indented, with a line end. Bytes that are not UTF-8, as a path may hold, become U+FFFD.
void print_json(const nlohmann::json& json);

// Hands what was printed to the reader now. Throws OutputError where that fails.
void flush_standard_output();

// Throws OutputError where something that was printed could not be written. After the last result:
// nothing can be printed any more.
void close_standard_output();

OutputError standard_output_error(const std::error_code& why);

}  // namespace gemm_tune
