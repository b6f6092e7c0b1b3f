// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/scratch_dir.h"

#include <cstdlib>
#include <system_error>

#include "core/descriptor_limit.h"
#include "core/error.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

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

OwnFolder made_in(const fs::path& parent, const std::string& prefix) {
  try {
    return {parent, prefix};
  } catch (const std::system_error& error) {
    const std::string why =
        "'" + parent.string() + "' cannot hold temporary files (" + error.code().message() + "): ";
    if (is_descriptor_limit(error.code().value())) {
      throw DeviceError(why + kRaiseDescriptorLimit);
    }
    throw UsageError(why + "set TMPDIR to a folder with room");
  }
}

}  // namespace

ScratchDir::ScratchDir(const std::string& prefix) : folder_(made_in(temporary_folder(), prefix)) {}

}  // namespace gemm_tune
