// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/files/own_folder.h"
#include "core/text/printable.h"
#include "db/database.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

enum class Way { standard_output, replace, write_through };

struct Destination {
  Way way = Way::replace;
  fs::path path;                     // to replace; not a link
  std::optional<struct stat> there;  // of the file at the path, if any
};

std::string reason(int error) { return std::generic_category().message(error); }

UsageError unusable(const std::string& path, int error) {
  return UsageError("'" + path + "' cannot be written (" + reason(error) +
                    "): name a file in a folder that exists and is writable");
}

OutputError failed(const std::string& path, int error) {
  return OutputError("'" + path + "' cannot be written: " + reason(error));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// /dev/fd/3 leads there. Such a link stands for an open file; its target's name is not replaced.
bool is_on_proc(const fs::path& path) {
  struct statfs info {};
  return statfs(folder_of(path).c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

// The name at the end of a chain of links; it need not exist. The kernel has refused circular
// chains.
fs::path behind_links(fs::path path) {
  while (is_link(path) && !is_on_proc(path)) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

// A database holds the results of many hours. A slip of the command line must not replace it.
bool is_database(const std::string& path) {
  std::array<char, kDatabaseMagic.size()> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return std::string_view(start.data(), start.size()) == kDatabaseMagic;
}

// The file at the path itself or in the folder at it, by whatever names.
bool is_within(const fs::path& file, const fs::path& path) {
  std::error_code error;
  if (fs::equivalent(file, path, error)) return true;
  const fs::path relative =
      fs::weakly_canonical(file, error).lexically_relative(fs::weakly_canonical(path, error));
  return !relative.empty() && *relative.begin() != "..";
}

void require_no_input(const std::string& path, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input.empty() || !is_within(path, input)) continue;
    throw UsageError("'" + path + "' is read by this command, which would replace it: name " +
                     "another file");
  }
}

bool is_standard_output(const struct stat& file) {
  struct stat output {};
  return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

Destination destination_of(const std::string& path) {
  if (path == "-") return {Way::standard_output, path, {}};
  struct stat file {};
  const bool exists = stat(path.c_str(), &file) == 0;
  if (!exists && errno != ENOENT) throw unusable(path, errno);
  if (exists && S_ISDIR(file.st_mode)) {
    throw UsageError("'" + path + "' cannot be written: it is a directory; name a file in it");
  }
  if (exists && !S_ISREG(file.st_mode)) return {Way::write_through, path, file};
  if (exists && is_standard_output(file)) return {Way::standard_output, path, file};
  if (exists && is_database(path)) {
    throw UsageError("'" + path + "' is a database, which is not replaced: name another file");
  }
  const fs::path target = behind_links(path);
  require_no_journal(target.string());
  if (is_link(target)) return {Way::write_through, path, file};
  if (access(folder_of(target).c_str(), W_OK | X_OK) != 0) throw unusable(path, errno);
  return {Way::replace, target, exists ? std::optional(file) : std::nullopt};
}

// Closes the descriptor. Returns the error number, or 0.
int write_and_close(int descriptor, std::string_view bytes) {
  FILE* const file = fdopen(descriptor, "wb");
  if (file == nullptr) {
    const int error = errno;
    close(descriptor);
    return error;
  }
  errno = 0;
  const bool written = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if (fclose(file) != 0) return errno;
  return written ? 0 : error;
}

void write_through(const std::string& path, std::string_view bytes) {
  // O_APPEND: if this is another open file, its content stays.
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) throw unusable(path, errno);
  if (const int error = write_and_close(descriptor, bytes)) throw failed(path, error);
}

// Only root may set another owner; for other users the file becomes their own.
void take_over_rights(int descriptor, const struct stat& replaced) {
  [[maybe_unused]] const int ignored = fchown(descriptor, replaced.st_uid, replaced.st_gid);
  fchmod(descriptor, replaced.st_mode & 0777);
}

void replace(const std::string& path, const Destination& destination, std::string_view bytes) try {
  const OwnFolder folder = folder_aside(folder_of(destination.path));
  const fs::path aside = folder.path() / "new";
  const int descriptor = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw unusable(path, errno);
  if (destination.there) take_over_rights(descriptor, *destination.there);
  int error = write_and_close(descriptor, bytes);
  if (error == 0 && rename(aside.c_str(), destination.path.c_str()) != 0) error = errno;
  if (error != 0) throw failed(path, error);
} catch (const std::system_error& error) {
  throw unusable(path, error.code().value());
}

}  // namespace

void require_writable(const std::string& path, const std::vector<std::string>& inputs) {
  const Destination destination = destination_of(path);
  if (destination.way == Way::replace) require_no_input(path, inputs);
}

// A folder at the place of a journal would shut the database, so each folder above counts, too.
void require_no_journal(const std::string& path) {
  for (fs::path part = path; part.has_relative_path(); part = part.parent_path()) {
    const std::string name = part.string();
    for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {
      if (!name.ends_with(suffix)) continue;
      const std::string database = name.substr(0, name.size() - suffix.size());
      if (!is_database(database)) continue;
      throw UsageError("'" + path + "' is where SQLite keeps changes of the database '" + database +
                       "': name another");
    }
  }
}

void write_output(const std::string& path, std::string_view bytes) {
  const Destination destination = destination_of(path);
  switch (destination.way) {
    case Way::standard_output:
      if (fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return;
      throw standard_output_error({errno, std::generic_category()});
    case Way::write_through:
      return write_through(path, bytes);
    case Way::replace:
      return replace(path, destination, bytes);
  }
}

void write_result(const std::string& path, std::string_view bytes, bool quiet) {
  write_output(path, bytes);
  if (!quiet && destination_of(path).way == Way::replace) tell_written(path);
}

void tell_written(const std::string& path) {
  std::fputs(fmt::format("gemm-tune: {} is written\n", printable(path)).c_str(), stderr);
}

}  // namespace gemm_tune
