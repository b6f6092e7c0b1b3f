// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/scratch_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "core/error.h"
#include "core/files/descriptor_limit.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& parent, int code) {
  const std::string why = "'" + parent.string() + "' cannot hold temporary files (" +
                          std::generic_category().message(code) + "): ";
  if (is_descriptor_limit(code)) throw DeviceError(why + kRaiseDescriptorLimit);
  throw UsageError(why + "set TMPDIR to a folder with room");
}

OwnFolder made_in(const fs::path& parent, const std::string& prefix) {
  try {
    return {parent, prefix};
  } catch (const std::system_error& error) {
    refuse(parent, error.code().value());
  }
}

}  // namespace

// As std::filesystem::temp_directory_path() finds it, whose error does not name the folder.
fs::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* const folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') continue;
    require_utf8(variable, folder);  // messages quote it
    return folder;
  }
  return "/tmp";
}

int open_nameless_file(const fs::path& folder) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // A file system without O_TMPFILE (NFS, older overlays): named for an instant.
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    std::string name = (folder / "gemm-tune-XXXXXX").string();
    file = mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) unlink(name.c_str());
  }
  if (file < 0) refuse(folder, errno);
  return file;
}

ScratchDir::ScratchDir(const std::string& prefix) : folder_(made_in(temporary_folder(), prefix)) {}

}  // namespace gemm_tune
