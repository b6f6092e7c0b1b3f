// SPDX-License-Identifier: Apache-2.0
#include "db/database_stamp.h"

#include <sys/stat.h>

#include <string>
#include <system_error>

namespace gemm_tune {
namespace {

DatabaseStamp::File stamp_of_file(const std::string& path, bool counts_if_empty) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (status.st_size == 0 && !counts_if_empty) return {};
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

}  // namespace

DatabaseStamp stamp_of(const std::filesystem::path& path) {
  if (path.empty()) return {};
  // The log lies beside the file that a link leads to.
  std::error_code missing;
  const std::filesystem::path file = std::filesystem::canonical(path, missing);
  if (missing) return {};
  // A reader may leave an empty log.
  return {stamp_of_file(file.string(), true), stamp_of_file(file.string() + "-wal", false)};
}

}  // namespace gemm_tune
