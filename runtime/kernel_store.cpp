// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files/descriptor_limit.h"
#include "core/files/write_signals.h"
#include "core/random_word.h"
#include "core/text/fnv1a.h"

namespace gemm_tune {
namespace {

std::string hash(std::string_view bytes, std::string_view more = "") {
  Fnv1a hash;
  hash.add_bytes(bytes);
  hash.add_bytes(more);
  return hash.hex();
}

// The file: this line, the key, the cubin.
std::string header(std::string_view key, std::string_view cubin) {
  return "gemm-tune cubin 2 " + std::to_string(key.size()) + " " + std::to_string(cubin.size()) +
         " " + hash(key, cubin) + "\n";
}

// -1 where that fails.
int open_in(int directory, const std::string& name, int flags) {
  return ::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// Far above any kernel's. A larger file is damaged or foreign.
constexpr off_t kMostFileBytes = off_t{256} << 20;

// The whole content of a regular file, if its owner and mode can be trusted.
std::optional<std::string> read_whole(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size > kMostFileBytes) return std::nullopt;
  if (why_untrusted(info.st_uid, info.st_mode, ::geteuid())) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file, text.data() + size, text.size() - size);
    if (count <= 0) return std::nullopt;
    size += static_cast<std::size_t>(count);
  }
  return text;
}

constexpr std::time_t kDaySeconds = 24 * 60 * 60;

// Records that the file was used, but once a day: a process that starts every second writes
// nothing.
void mark_as_used(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || std::time(nullptr) - info.st_mtime < kDaySeconds) return;
  // Where that is not allowed, the file only counts as older than it is.
  [[maybe_unused]] const int marked = ::futimens(file, nullptr);
}

constexpr std::string_view kExtension = ".cubin", kAside = "writing";

// Of a key's file.
bool is_name(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  return name.size() == kDigits + kExtension.size() && name.substr(kDigits) == kExtension &&
         name.find_first_not_of("0123456789abcdef") == kDigits;
}

// Of name_aside().
bool is_name_aside(std::string_view name) {
  return name.starts_with(kAside) &&
         name.substr(kAside.size()).find_first_not_of("-0123456789") == name.npos;
}

// Not to be guessed, so that nobody is there first.
std::string name_aside() {
  std::string name(kAside);
  for (int i = 0; i < 4; ++i) name += "-" + std::to_string(random_word());
  return name;
}

// Calls visit(name) for each entry of the directory; for none where it cannot be read.
template <class Visit>
void for_each_name(int directory, const Visit& visit) {
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = own < 0 ? nullptr : ::fdopendir(own);
  if (entries == nullptr) {
    if (own >= 0) ::close(own);
    return;
  }
  while (const dirent* const entry = ::readdir(entries)) visit(std::string(entry->d_name));
  ::closedir(entries);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string message_of(int code) { return std::generic_category().message(code); }

[[noreturn]] void refuse(const std::filesystem::path& directory, const std::string& why) {
  throw UsageError("'" + directory.string() + "' cannot serve as kernel cache: " + why);
}

[[noreturn]] void fail(const std::filesystem::path& directory, int code) {
  if (!is_descriptor_limit(code)) refuse(directory, message_of(code));
  throw DeviceError("'" + directory.string() + "' cannot be opened for compiled kernels (" +
                    message_of(code) + "): " + kRaiseDescriptorLimit);
}

// "cache" for "cache/".
std::filesystem::path without_slash(std::filesystem::path directory) {
  return directory.has_filename() ? directory : directory.parent_path();
}

// Makes the directory where it does not exist.
int open_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory.parent_path(), error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) fail(directory, errno);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) return descriptor;
  if (errno == ENOTDIR) refuse(directory, "it is no directory");
  fail(directory, errno);
}

// Why GPU code may not come from what is open.
std::optional<std::string> why_untrusted(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return message_of(errno);
  return gemm_tune::why_untrusted(info.st_uid, info.st_mode, ::geteuid());
}

}  // namespace

std::optional<std::string> why_untrusted(uid_t owner, mode_t mode, uid_t user) {
  if (owner != user && owner != 0) {
    return "it belongs to user " + std::to_string(owner) + ", and this process to user " +
           std::to_string(user) + ": who can write there supplies GPU code, so name one of its own";
  }
  if ((mode & (S_IWGRP | S_IWOTH)) != 0) {
    return std::string("its group or others may write to it, and so supply GPU code: ") +
           "take that from them (chmod go-w), or name another";
  }
  return std::nullopt;
}

KernelStore::KernelStore(std::filesystem::path directory, std::uintmax_t most_bytes)
    : directory_(without_slash(std::move(directory))),
      most_bytes_(most_bytes),
      descriptor_(open_directory(directory_)) {
  const std::optional<std::string> why = why_untrusted(descriptor_);
  if (!why) return;
  ::close(descriptor_);
  refuse(directory_, *why);
}

KernelStore::~KernelStore() { ::close(descriptor_); }

std::filesystem::path KernelStore::file(std::string_view key) const {
  return directory_ / (hash(key).append(kExtension));
}

std::optional<std::string> KernelStore::load(std::string_view key) const {
  // Without waiting for the other end of a pipe.
  const int descriptor = open_in(descriptor_, file(key).filename(), O_RDONLY | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  const std::optional<std::string> text = read_whole(descriptor);
  if (text) mark_as_used(descriptor);
  ::close(descriptor);
  if (!text) return std::nullopt;
  const std::size_t line_end = text->find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  const std::size_t key_begin = line_end + 1;
  // The key stands in the file, so that two keys of one hash cannot be taken for each other.
  if (text->compare(key_begin, key.size(), key) != 0) return std::nullopt;
  if (text->size() < key_begin + key.size()) return std::nullopt;
  std::string cubin = text->substr(key_begin + key.size());
  if (text->substr(0, key_begin) != header(key, cubin)) return std::nullopt;
  return cubin;
}

bool KernelStore::store(std::string_view key, std::string_view cubin) const {
  const std::string aside = name_aside(), name = file(key).filename();
  const int descriptor = open_in(descriptor_, aside, O_WRONLY | O_CREAT | O_EXCL);
  if (descriptor < 0) return false;
  const WriteSignalsHeld held;
  const bool written = write_all(descriptor, header(key, cubin)) && write_all(descriptor, key) &&
                       write_all(descriptor, cubin);
  const bool closed = ::close(descriptor) == 0;
  if (written && closed && ::renameat(descriptor_, aside.c_str(), descriptor_, name.c_str()) == 0) {
    trim(name);
    return true;
  }
  ::unlinkat(descriptor_, aside.c_str(), 0);
  return false;
}

void KernelStore::trim(const std::string& just_stored) const {
  struct File {
    std::time_t used;
    std::uintmax_t bytes;
    std::string name;
  };
  std::vector<File> files;
  std::uintmax_t bytes = 0;
  const std::time_t now = std::time(nullptr);
  const auto consider = [&](const std::string& name) {
    struct stat info {};
    if (!is_name(name) && !is_name_aside(name)) return;
    if (::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!S_ISREG(info.st_mode)) return;
    if (is_name_aside(name)) {  // its writer takes less than a second
      if (now - info.st_mtime > kDaySeconds) ::unlinkat(descriptor_, name.c_str(), 0);
      return;
    }
    bytes += static_cast<std::uintmax_t>(info.st_size);
    if (name != just_stored) {
      files.push_back({info.st_mtime, static_cast<std::uintmax_t>(info.st_size), name});
    }
  };
  for_each_name(descriptor_, consider);
  if (bytes <= most_bytes_) return;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  // With room to spare, or each further file would have to remove one. A reader keeps what it has
  // opened; another process that removes files at the same time removes the same ones.
  const std::uintmax_t goal = most_bytes_ - most_bytes_ / 8;
  for (const File& file : files) {
    if (bytes <= goal) return;
    ::unlinkat(descriptor_, file.name.c_str(), 0);
    bytes -= file.bytes;
  }
}

std::optional<std::filesystem::path> default_kernel_cache(const char* xdg_cache_home,
                                                          const char* home) {
  const auto given = [](const char* value) { return value != nullptr && *value != '\0'; };
  // The XDG specification: a relative path is invalid and ignored.
  if (given(xdg_cache_home) && std::filesystem::path(xdg_cache_home).is_absolute()) {
    return std::filesystem::path(xdg_cache_home) / "gemm-tune";
  }
  if (given(home)) return std::filesystem::path(home) / ".cache" / "gemm-tune";
  return std::nullopt;
}

std::optional<std::filesystem::path> default_kernel_cache() {
  return default_kernel_cache(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
}

}  // namespace gemm_tune
