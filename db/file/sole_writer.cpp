// SPDX-License-Identifier: Apache-2.0
#include "db/file/sole_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <system_error>

#include "db/file/database_error.h"

namespace gemm_tune {
namespace {

struct Writer {
  std::string host, pid;
};

Writer named_in(int fd) {
  std::string text(512, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  Writer writer;
  std::istringstream(text) >> writer.host >> writer.pid;
  return writer;
}

}  // namespace

SoleWriter::SoleWriter(const std::filesystem::path& database, const std::string& host)
    : path_(database.string() + "-job") {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw database_error(database, "cannot be written: '" + path_.string() +
                                       "' cannot be made beside it (" + std::strerror(errno) + ")");
  }
  const bool is_locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
  const Writer other = named_in(fd_);
  const bool is_elsewhere = !other.host.empty() && other.host != host;
  if (!is_locked || is_elsewhere) {
    close(fd_);
    throw database_error(
        database, "is being written by a job on host " + other.host + " (process " + other.pid +
                      "): wait for its end" +
                      (is_elsewhere ? ", or delete '" + path_.string() + "' if that job is gone"
                                    : std::string()));
  }
  const std::string text = host + " " + std::to_string(getpid()) + "\n";
  if (ftruncate(fd_, 0) != 0 ||
      pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const std::string why = std::strerror(errno);
    close(fd_);
    throw database_error(database,
                         "cannot be written: '" + path_.string() + "' beside it (" + why + ")");
  }
}

SoleWriter::~SoleWriter() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);  // before the lock goes
  close(fd_);
}

}  // namespace gemm_tune
