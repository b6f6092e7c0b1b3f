// SPDX-License-Identifier: Apache-2.0
#include "core/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace gemm_tune {
namespace {

constexpr std::chrono::seconds kPipeWait{10};

struct Descriptor {
  explicit Descriptor(int opened) : value(opened) {}
  ~Descriptor() {
    if (value >= 0) close(value);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int value;
};

class InputFile {
 public:
  InputFile(const std::string& path, const std::string& what)
      : name_(what + " '" + path + "'"),
        // O_NONBLOCK: without it, opening a pipe that has no writer would block.
        file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (file_.value < 0 || fstat(file_.value, &status) != 0) fail_to_read();
    is_pipe_ = S_ISFIFO(status.st_mode);
    if (S_ISDIR(status.st_mode)) fail("is a directory: name a file");
    if (!is_pipe_ && !S_ISREG(status.st_mode)) {
      fail("is neither a regular file nor a pipe: name one");
    }
  }

  std::string read_whole(std::size_t most_bytes) {
    std::string bytes;
    std::vector<char> chunk(1 << 16);
    for (;;) {
      if (is_pipe_) await_writer();
      const ssize_t count = read(file_.value, chunk.data(), chunk.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) fail_to_read();
      if (count == 0) return bytes;
      bytes.append(chunk.data(), static_cast<std::size_t>(count));
      if (bytes.size() > most_bytes) {
        fail("is longer than " + std::to_string(most_bytes / 1'000'000) +
             " MB: name a shorter one");
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw UsageError(name_ + " " + why); }
  [[noreturn]] void fail_to_read() const {
    fail("cannot be read: " + std::generic_category().message(errno));
  }

  void await_writer() const {
    pollfd pipe{file_.value, POLLIN, 0};
    const auto wait = std::chrono::milliseconds(kPipeWait).count();
    const int ready = poll(&pipe, 1, static_cast<int>(wait));
    if (ready == 0) {
      fail("is a pipe that has sent nothing for " + std::to_string(kPipeWait.count()) +
           " s: name a file, or start its writer first");
    }
  }

  std::string name_;
  Descriptor file_;
  bool is_pipe_ = false;
};

}  // namespace

std::string read_input_file(const std::string& path, const std::string& what,
                            std::size_t most_bytes) {
  return InputFile(path, what).read_whole(most_bytes);
}

}  // namespace gemm_tune
