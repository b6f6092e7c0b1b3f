// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/under_drop_in.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/printable.h"
#include "tuner/app/target.h"

namespace gemm_tune {
namespace {

constexpr const char* kDropIn = "libgemm_tune_blas.so";

// Installed, built, or carried beside the program.
std::filesystem::path drop_in() {
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* const folder : {"../" GT_LIBRARY_FOLDER, "../dispatch", "."}) {
    std::error_code missing;
    const auto file = std::filesystem::canonical(own / folder / kDropIn, missing);
    if (!missing) return file;
  }
  throw UsageError(std::string(kDropIn) + " lies neither in " +
                   (own / ".." / GT_LIBRARY_FOLDER).lexically_normal().string() + " nor beside " +
                   own.string() + "/gemm-tune: install it there, with libgemm_tune.so");
}

// This process's environment, with other values for some names.
class ChildEnvironment {
 public:
  ChildEnvironment() {
    for (char** at = environ; *at != nullptr; ++at) lines_.emplace_back(*at);
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(lines_, [&](const std::string& line) { return line.starts_with(name + "="); });
    lines_.push_back(name + "=" + value);
  }
  std::vector<char*> pointers() {
    std::vector<char*> all;
    for (std::string& line : lines_) all.push_back(line.data());
    all.push_back(nullptr);
    return all;
  }

 private:
  std::vector<std::string> lines_;
};

// While it lives, this process ignores what the terminal sends to both; the child gets what was
// there before, also for the signal that main() ignores.
class TerminalSignalsIgnored {
 public:
  TerminalSignalsIgnored() {
    sigemptyset(&defaults_);
    sigaddset(&defaults_, SIGXFSZ);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &ignore, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaddset(&defaults_, kSignals[i]);
    }
  }
  ~TerminalSignalsIgnored() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  TerminalSignalsIgnored(const TerminalSignalsIgnored&) = delete;
  TerminalSignalsIgnored& operator=(const TerminalSignalsIgnored&) = delete;

  const sigset_t& childs_defaults() const { return defaults_; }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGQUIT};
  struct sigaction before_[2] = {};
  sigset_t defaults_;
};

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(std::string("waitpid failed: ") + std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_under_drop_in(const Options& options, const std::filesystem::path& report) {
  ChildEnvironment environment;
  const char* const preloaded = std::getenv("LD_PRELOAD");
  const bool others = preloaded != nullptr && *preloaded != '\0';
  environment.set("LD_PRELOAD", drop_in().string() + (others ? ":" + std::string(preloaded) : ""));
  environment.set("GEMM_TUNE_BLAS_REPORT", std::filesystem::absolute(report).string());
  environment.set("GEMM_TUNE_DB", std::filesystem::absolute(database_path(options)).string());
  std::vector<std::string> words = options.application;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const TerminalSignalsIgnored ignored;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &ignored.childs_defaults());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(),
                                   environment.pointers().data());
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    throw UsageError("'" + excerpt(words[0]) + "' cannot be started: " + std::strerror(failure));
  }
  return wait_for(child);
}

}  // namespace gemm_tune
