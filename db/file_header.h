// SPDX-License-Identifier: Apache-2.0
// The first bytes of a database file: https://www.sqlite.org/fileformat2.html, section 1.3.
//
// They are read through the handle by which SQLite has the file open. A handle of our own would
// drop every lock that this process has on the file as soon as it is closed, other connections'
// locks included (https://www.sqlite.org/howtocorrupt.html, section 2.2). Private to db/. Use the
// connection from one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>

namespace gemm_tune {

inline constexpr std::size_t kFileHeaderBytes = 100;
inline constexpr std::size_t kPageCountOffset = 28;
inline constexpr std::size_t kUserVersionOffset = 60;

struct FileHeader {
  std::uint64_t file_bytes = 0;    // size of the file; below kFileHeaderBytes: the rest is zero
  bool has_magic = false;          // it begins as every SQLite database does
  bool has_wal_format = false;     // journalled by a write-ahead log
  std::uint32_t page_count = 0;    // as of the last writer
  std::uint32_t user_version = 0;  // of the schema
  std::uint32_t application_id = 0;
};

// Of an open file, not of a database in memory. Takes no lock and executes nothing of the file.
// Throws SQLite::Exception.
FileHeader read_file_header(SQLite::Database& db);

}  // namespace gemm_tune
