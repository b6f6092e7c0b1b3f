#include "tuner/scratch_dir.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace gemm_tune {

ScratchDir::ScratchDir(const std::string& prefix) {
  std::string name = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error("a scratch folder cannot be made as '" + name + "': " + std::strerror(errno) +
                "; set TMPDIR to a folder with room");
  }
  path_ = name;
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;  // a leftover in the temporary folder harms nobody
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gemm_tune
