// SPDX-License-Identifier: Apache-2.0
// Child processes for tests, so that limits, user ids and kills do not affect the test itself.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace gemm_tune {

// Runs `act` in a process of its own and returns what it wrote, so that limits and identities can
// be changed there. Threads of this process do not exist in it.
inline std::string in_child(const std::function<std::string()>& act) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = act();
    } catch (const std::exception& error) {
      text = std::string("threw: ") + error.what();
    }
    const bool written = write(ends[1], text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text += " (child died)";
  return text;
}

// Permissions bind everybody but root.
inline void become_nobody() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
    throw std::runtime_error("setuid failed");
  }
}

inline void limit_file_size(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("setrlimit failed");
}

}  // namespace gemm_tune
