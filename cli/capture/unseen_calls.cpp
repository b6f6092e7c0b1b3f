// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/unseen_calls.h"

#include <elf.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

// As posix_spawnp() finds it.
fs::path file_of(const std::string& program) {
  const char* const path = std::getenv("PATH");
  if (program.find('/') != program.npos || path == nullptr) return program;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder.empty() ? "." : folder) / program;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return program;
}

// The loader then takes LD_PRELOAD and LD_AUDIT from nobody.
bool has_other_rights(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return false;
  return ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) ||
         ((info.st_mode & S_ISGID) != 0 && info.st_gid != getgid()) ||
         (getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0);
}

// Whether no loader runs before it.
bool is_static(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  const std::string magic(reinterpret_cast<const char*>(header.e_ident), SELFMAG);
  if (!in || magic != ELFMAG || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!in || part.p_type == PT_INTERP) return false;
  }
  return true;
}

}  // namespace

std::string why_unseen(const std::vector<std::string>& application, bool audit) {
  const std::string named = "'" + excerpt(application.at(0)) + "'";
  const fs::path file = file_of(application.at(0));
  if (has_other_rights(file)) {
    return "; the loader keeps the drop-in out of " + named +
           ", which runs with other rights than yours (setuid, setgid or capabilities): run a copy "
           "without them";
  }
  if (is_static(file)) {
    return "; the drop-in reaches no program that is linked statically, as " + named + " is";
  }
  return audit ? "" : "; --audit sees also those of a program that finds cuBLAS by dlsym()";
}

int ended_without_calls(const std::vector<std::string>& application, const std::string& name,
                        int exit_code, bool audit) {
  const std::string sentence =
      "the program made no call of cuBLAS that could be served: " + excerpt(name) +
      " exited with " + std::to_string(exit_code) + why_unseen(application, audit);
  if (exit_code == 0) throw NothingFound(sentence);
  fmt::print(stderr, "gemm-tune: {}\n", printable(sentence));
  return exit_code;
}

}  // namespace gemm_tune
