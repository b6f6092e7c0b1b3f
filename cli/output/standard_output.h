// SPDX-License-Identifier: Apache-2.0
// Standard output for results: a failed write is reported, once, at the end.
//
// A reader that has left (`| head`) ends the program by SIGPIPE, as it ends other programs. If the
// parent process ignores that signal, the write fails and is reported like a full disk. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "tuner/report/short_report.h"

namespace gemm_tune {

// If a standard stream was closed at the start, opens a descriptor in its place that fails in the
// stream's direction. Otherwise a file opened later would take the stream's number. Call it first.
void occupy_standard_streams();

// Prints by core/text/printable.h: names and reasons may come from anybody's files.
void print_text(std::string_view text);

// The version of the form of all JSON output, docs/json-output.schema.json. It rises when a field
// goes away or changes its meaning, not when one is added.
inline constexpr int kJsonFormatVersion = 1;

// The same, with lines broken by form_of_standard_output().
void print_fitted(std::string_view text);

// Prints with indentation and a line end. Adds "format_version" to the object, or to each object of
// the array. Bytes that are not UTF-8, as in a path, become U+FFFD.
void print_json(nlohmann::json json);

// Of a terminal its columns, at least 80, with configs broken to fit; elsewhere 80 columns, with
// configs whole.
PageForm form_of_standard_output();

// Writes the printed text to the reader now. Throws OutputError if that fails.
void flush_standard_output();

// Throws OutputError if any printed text could not be written. Call it after the last result: no
// more text can be printed.
void close_standard_output();

OutputError standard_output_error(const std::error_code& why);

}  // namespace gemm_tune
