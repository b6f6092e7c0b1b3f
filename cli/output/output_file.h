// SPDX-License-Identifier: Apache-2.0
// Writes the files that a user names: export -o, explain --cubin.
//
// A regular file is replaced whole or stays as it was: the bytes go to a new file in a folder
// beside it, which is then renamed. A symbolic link stays a link, and its target is replaced. A
// device, a FIFO or another open file of the process (/dev/fd/3) is written to directly. "-" and
// the file behind standard output mean standard output. A database, the journals beside it and what
// the command reads are never replaced. Stateless; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/output/standard_output.h"

namespace gemm_tune {

// Throws UsageError, which says what would be right, if the path cannot be written. Call it before
// long work; the file is not touched. inputs: files that the command reads, and folders of them;
// the empty text names none.
void require_writable(const std::string& path, const std::vector<std::string>& inputs = {});

// Throws UsageError if SQLite keeps a journal of an existing database at the path, of a file or
// folder.
void require_no_journal(const std::string& path);

// Throws as require_writable() does, and OutputError if the writing itself fails.
void write_output(const std::string& path, std::string_view bytes);

// The same; then names the file on stderr, unless quiet or where it is no regular file.
void write_result(const std::string& path, std::string_view bytes, bool quiet);
void tell_written(const std::string& path);

}  // namespace gemm_tune
