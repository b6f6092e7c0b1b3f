// SPDX-License-Identifier: Apache-2.0
#include "db/file/file_header.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "db/database.h"

namespace gemm_tune {
namespace {

constexpr std::size_t kWriteVersionOffset = 18;
constexpr std::size_t kApplicationIdOffset = 68;

using Bytes = std::array<char, kFileHeaderBytes>;

std::uint32_t big_endian(const Bytes& bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}

}  // namespace

FileHeader read_file_header(SQLite::Database& db) {
  const auto require = [&](int result) {
    if (result != SQLITE_OK) throw SQLite::Exception("its header cannot be read", result);
  };
  sqlite3_file* file = nullptr;
  require(sqlite3_file_control(db.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file));
  FileHeader header;
  // Asks for the size by name: SQLite's handle reports 0 for a file of one byte.
  std::error_code error;
  header.file_bytes =
      std::filesystem::file_size(sqlite3_db_filename(db.getHandle(), "main"), error);
  if (error) require(SQLITE_CANTOPEN);
  Bytes bytes{};
  const int result = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (result != SQLITE_IOERR_SHORT_READ) require(result);  // a short file: the rest is 0
  header.has_magic = std::equal(kDatabaseMagic.begin(), kDatabaseMagic.end(), bytes.begin());
  header.has_wal_format = bytes[kWriteVersionOffset] == 2;
  header.page_count = big_endian(bytes, kPageCountOffset);
  header.user_version = big_endian(bytes, kUserVersionOffset);
  header.application_id = big_endian(bytes, kApplicationIdOffset);
  return header;
}

}  // namespace gemm_tune
