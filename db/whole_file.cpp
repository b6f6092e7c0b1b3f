// SPDX-License-Identifier: Apache-2.0
#include "db/whole_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "core/own_folder.h"
#include "db/database_file.h"
#include "db/database_impl.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

DatabaseError not_created(const fs::path& path, int error) {
  return database_error(path, "cannot be created: " + std::generic_category().message(error));
}

DatabaseError exists_already(const fs::path& path) {
  return database_error(path, "exists already: name a new file");
}

bool is_taken(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

OwnFolder made_beside(const fs::path& path) {
  try {
    return folder_aside(path.parent_path());
  } catch (const std::system_error& error) {
    throw not_created(path, error.code().value());
  }
}

// An empty file that is removed with its side files unless it is put in place.
class NewFile {
 public:
  explicit NewFile(const fs::path& path)
      : path_(path), folder_(made_beside(path)), aside_(folder_.path() / path.filename()) {
    // SQLite would give it fewer rights than a new file has.
    const int descriptor = open(aside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) throw not_created(path_, errno);
    close(descriptor);
  }

  const fs::path& aside() const { return aside_; }

  // Replaces no file: another process may have made one meanwhile.
  void put_in_place() const {
    flush(aside_.string(), O_RDWR);
    int error = renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0
                    ? 0
                    : errno;
    if (error == EINVAL && !is_taken(path_)) {  // the file system knows no such rename
      error = rename(aside_.c_str(), path_.c_str()) == 0 ? 0 : errno;
    }
    if (error == EEXIST) throw exists_already(path_);
    if (error != 0) throw not_created(path_, error);
    flush(path_.parent_path().string(), O_RDONLY | O_DIRECTORY);
  }

 private:
  void flush(const std::string& name, int flags) const {
    const int descriptor = open(name.c_str(), flags | O_CLOEXEC);
    const bool flushed = descriptor >= 0 && fsync(descriptor) == 0;
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    // Not every file system flushes folders.
    if (!flushed && (flags & O_DIRECTORY) == 0) throw not_created(path_, error);
  }

  const fs::path path_;
  const OwnFolder folder_;
  const fs::path aside_;
};

void change(const fs::path& path, const fs::path& file, const LockWait& lock,
            const std::function<void(SQLite::Database&)>& act) {
  OpenDatabase opened = open_database(file, Database::Mode::create_or_open, lock,
                                      Database::Journaling::by_file_system);
  guarded(path, [&] {
    SQLite::Transaction transaction(opened.connection, SQLite::TransactionBehavior::IMMEDIATE);
    act(opened.connection);
    transaction.commit();
  });
}

}  // namespace

void require_new(const fs::path& path) {
  if (is_taken(path)) throw exists_already(path);
  for (const char* suffix : {"-wal", "-journal"}) {
    if (!is_taken(path.string() + suffix)) continue;
    throw database_error(path, "cannot be created: '" + path.string() + suffix +
                                   "' of an earlier database is there; move it away or name "
                                   "another file");
  }
  require_writable_place(path);
}

void create_whole(const fs::path& path, const LockWait& lock,
                  const std::function<void(SQLite::Database&)>& act) {
  require_new(path);
  const NewFile file(path);
  change(path, file.aside(), lock, act);
  file.put_in_place();
}

void change_or_create(const fs::path& path, const LockWait& lock,
                      const std::function<void(SQLite::Database&)>& act) {
  is_taken(path) ? change(path, path, lock, act) : create_whole(path, lock, act);
}

}  // namespace gemm_tune
