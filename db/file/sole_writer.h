// SPDX-License-Identifier: Apache-2.0
// One job of many machines at a time writes a database: a file beside it names the job's host and
// process.
//
// SQLite's locks keep the processes of one host apart, not those of several. On one host the file
// is locked as long as its job lives, so that one that was killed hinders nobody; a file that
// another host has left says which process to look for. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gemm_tune {

class SoleWriter {
 public:
  // host: this machine's name. Throws DatabaseError where another job has the database, or the file
  // beside it cannot be written.
  SoleWriter(const std::filesystem::path& database, const std::string& host);
  ~SoleWriter();
  SoleWriter(const SoleWriter&) = delete;
  SoleWriter& operator=(const SoleWriter&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace gemm_tune
