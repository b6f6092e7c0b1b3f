// SPDX-License-Identifier: Apache-2.0
// Whether a database has changed, as the file system tells it: without opening it.
//
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gemm_tune {

// Of a database's file and the log beside it, to which rows are written first.
struct DatabaseStamp {
  struct File {  // zeros of one that is missing; of a log also where it is empty
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0, changed_s = 0, changed_ns = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  File database, log;

  friend bool operator==(const DatabaseStamp&, const DatabaseStamp&) = default;
};

// path: empty for none, whose stamp is that of a missing one.
DatabaseStamp stamp_of(const std::filesystem::path& path);

}  // namespace gemm_tune
