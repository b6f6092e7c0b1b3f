// SPDX-License-Identifier: Apache-2.0
// What an owner of a folder (core/files/own_folder.h) leaves behind when it is killed.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files/own_folder.h"
#include "tests/temp_folder.h"

namespace gemm_tune {

// parent/prefix-XXXXXX with these files, half written, and the lock of nobody.
inline void leave_folder_of_killed_owner(const std::filesystem::path& parent,
                                         const std::string& prefix,
                                         const std::vector<std::string>& files) {
  const pid_t child = fork();
  if (child == 0) {
    const OwnFolder folder(parent, prefix);
    for (const std::string& file : files) write_file(folder.path() / file, "half");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) throw std::runtime_error("the owner was not killed");
}

}  // namespace gemm_tune
