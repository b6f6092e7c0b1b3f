// SPDX-License-Identifier: Apache-2.0
// The first bytes of a database file: https://www.sqlite.org/fileformat2.html, section 1.3.
//
// The bytes are read through SQLite's own handle of the file. Closing a second handle would drop
// all locks that this process has on the file, those of other connections included
// (https://www.sqlite.org/howtocorrupt.html, section 2.2). Private to db/. Use the connection from
// one thread.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>

namespace gemm_tune {

inline constexpr std::size_t kFileHeaderBytes = 100;
inline constexpr std::size_t kPageCountOffset = 28;
inline constexpr std::size_t kUserVersionOffset = 60;

struct FileHeader {
  std::uint64_t file_bytes = 0;    // size of the file; the rest is 0 below kFileHeaderBytes
  bool has_magic = false;          // it begins as every SQLite database does
  bool has_wal_format = false;     // journalled by a write-ahead log
  std::uint32_t page_count = 0;    // as of the last writer
  std::uint32_t user_version = 0;  // of the schema
  std::uint32_t application_id = 0;
};

// Requires an open file, not a database in memory. Takes no lock and executes nothing from the
// file. Throws SQLite::Exception.
FileHeader read_file_header(SQLite::Database& db);

}  // namespace gemm_tune
