// SPDX-License-Identifier: Apache-2.0
#include "core/files/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace gemm_tune {
namespace {

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
  InputFile(const std::string& path, const std::string& what, std::chrono::seconds pipe_wait)
      : name_(what + " '" + path + "'"),
        pipe_wait_(pipe_wait),
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
    const auto wait = std::chrono::milliseconds(pipe_wait_).count();
    const int ready = poll(&pipe, 1, static_cast<int>(wait));
    if (ready == 0) {
      fail("is a pipe that has sent nothing for " + std::to_string(pipe_wait_.count()) +
           " s: name a file, or start its writer first");
    }
  }

  std::string name_;
  std::chrono::seconds pipe_wait_;
  Descriptor file_;
  bool is_pipe_ = false;
};

// What begins so is no text, and what would be right.
struct FileMark {
  std::string_view begin;
  const char* sentence;
};

using namespace std::string_view_literals;

constexpr const char* kUtf16 = "is text in UTF-16: save it as UTF-8";

constexpr FileMark kFileMarks[] = {
    {"\x1f\x8b"sv, "is compressed by gzip: name the unpacked file, or <(zcat FILE)"},
    {"\xfd"
     "7zXZ\0"sv,
     "is compressed by xz: name the unpacked file, or <(xzcat FILE)"},
    {"\x28\xb5\x2f\xfd"sv, "is compressed by zstd: name the unpacked file, or <(zstdcat FILE)"},
    {"BZh"sv, "is compressed by bzip2: name the unpacked file, or <(bzcat FILE)"},
    {"PK\x03\x04"sv, "is a zip archive: name the unpacked file"},
    {"SQLite format 3\0"sv, "is a database, which `gemm-tune db merge` reads: name a text"},
    {"\xff\xfe"sv, kUtf16},
    {"\xfe\xff"sv, kUtf16},
};

// nullopt for what may be a text.
std::optional<std::string> why_no_text(std::string_view bytes) {
  for (const FileMark& one : kFileMarks) {
    if (bytes.starts_with(one.begin)) return one.sentence;
  }
  const std::size_t zero = bytes.find('\0');
  if (zero == bytes.npos) return std::nullopt;
  return "is no text in UTF-8: byte " + std::to_string(zero + 1) + " is zero";
}

}  // namespace

std::string read_text_file(const std::string& path, const std::string& what,
                           std::size_t most_bytes) {
  std::string text = read_input_file(path, what, most_bytes);
  if (const auto why = why_no_text(text)) throw UsageError(what + " '" + path + "' " + *why);
  return text;
}

std::string read_input_file(const std::string& path, const std::string& what,
                            std::size_t most_bytes, std::chrono::seconds pipe_wait) {
  return InputFile(path, what, pipe_wait).read_whole(most_bytes);
}

}  // namespace gemm_tune
