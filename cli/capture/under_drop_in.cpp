// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/under_drop_in.h"

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>

#include "cli/arguments/database.h"
#include "core/error.h"
#include "core/files/own_binary.h"
#include "core/text/printable.h"
#include "core/types/accuracy.h"

namespace gemm_tune {
namespace {

constexpr const char* kDropIn = "libgemm_tune_blas.so";
// For the drop-in: the folder for what processes leave that do not come to write their report.
constexpr const char* kCountsVariable = "GEMM_TUNE_BLAS_COUNTS";
constexpr const char* kAuditModule = "libgemm_tune_blas_audit.so";

// Installed, built, or carried beside the program.
std::filesystem::path library_file(const char* name) {
  const std::optional<std::filesystem::path> program = own_program();
  if (!program) {
    throw UsageError(std::string("the folder of gemm-tune, and so ") + name +
                     ", cannot be found: start it by its path, as in /usr/bin/gemm-tune");
  }
  const std::filesystem::path own = program->parent_path();
  for (const char* const folder : {"../" GT_LIBRARY_FOLDER, "../dispatch", "."}) {
    std::error_code missing;
    const auto file = std::filesystem::canonical(own / folder / name, missing);
    if (!missing) return file;
  }
  throw UsageError(std::string(name) + " lies neither in " +
                   (own / ".." / GT_LIBRARY_FOLDER).lexically_normal().string() + " nor beside " +
                   own.string() + "/gemm-tune: install it there, with libgemm_tune.so");
}

// The loader parts LD_PRELOAD at blanks and colons, and puts folders for $ORIGIN and the like.
bool is_parted(const std::filesystem::path& file) {
  return file.string().find_first_of(" :$") != std::string::npos;
}

// The library by a name that the loader takes whole: through a link to its folder where its own
// name is parted. links: a folder for the link.
std::filesystem::path preloadable(const std::filesystem::path& library,
                                  const std::filesystem::path& links) {
  if (!is_parted(library)) return library;
  const std::filesystem::path link = links / "lib";
  if (is_parted(link)) {
    throw UsageError(
        "the loader takes no library from '" + printable(library.string()) +
        "', whose name has a blank, a colon or a dollar, nor by a link in the folder for "
        "temporary files, whose name has one, too: set TMPDIR to another folder");
  }
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink(library.parent_path(), link);
  return link / library.filename();
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
  // Of a list of libraries, which others may have begun.
  void put_first(const std::string& name, const std::string& file) {
    const char* const others = std::getenv(name.c_str());
    set(name, others == nullptr || *others == '\0' ? file : file + ":" + others);
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

// Signals that end programs, as long as this lives, wait for passed_on_until_end(). Those that this
// process ignores, as SIGHUP under nohup, stay ignored.
class EndingSignals {
 public:
  EndingSignals() {
    sigemptyset(&waiting_);
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&waiting_, signal);
    }
    sigaddset(&waiting_, SIGCHLD);
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;  // where it is ignored, no exit code is kept
    sigaction(SIGCHLD, &by_default, &before_of_child_);
    sigprocmask(SIG_BLOCK, &waiting_, &before_);
  }
  ~EndingSignals() {
    const timespec none{};  // one that came late has been meant for the program, too
    while (sigtimedwait(&waiting_, nullptr, &none) > 0) {
    }
    sigaction(SIGCHLD, &before_of_child_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  const sigset_t& childs_mask() const { return before_; }

  // Waits for the child, and sends it what is sent to this process; the terminal sends its own
  // signals to both. Without the seconds.
  ApplicationEnd passed_on_until_end(pid_t child) const {
    ApplicationEnd end;
    while (true) {
      siginfo_t info{};
      const int signal = sigwaitinfo(&waiting_, &info);
      const bool is_request = signal > 0 && signal != SIGCHLD;
      end.was_signalled = end.was_signalled || is_request;
      if (is_request && info.si_code <= 0) kill(child, signal);
      int status = 0;
      const pid_t ended = waitpid(child, &status, WNOHANG);
      if (ended < 0) throw Error(std::string("waitpid failed: ") + std::strerror(errno));
      if (ended != child) continue;
      end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      return end;
    }
  }

 private:
  sigset_t waiting_, before_;
  struct sigaction before_of_child_ {};
};

}  // namespace

void add_counts(const std::filesystem::path& folder, const std::filesystem::path& report) {
  void* drop_in = nullptr;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("counts.")) continue;
    if (drop_in == nullptr)
      drop_in = ::dlopen(library_file(kDropIn).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (drop_in == nullptr) throw Error(std::string(kDropIn) + ": " + ::dlerror());
    const auto report_of = reinterpret_cast<int (*)(const char*, const char*)>(
        ::dlsym(drop_in, "gemm_tune_blas_report_of"));
    constexpr int kOfAnotherVersion = 2;
    if (report_of != nullptr &&
        report_of(entry.path().c_str(), report.c_str()) == kOfAnotherVersion) {
      throw UsageError(
          "the program runs under another version of gemm-tune, whose counts this one does not "
          "read: start it again under this version");
    }
  }
}

void add_drop_in_options(CLI::App& app, DropInOptions& o) {
  add_database(app, o);
  app.add_flag("--audit", o.audit,
               "Reach a program that finds cuBLAS by dlsym(), too: JAX, CTranslate2, ctypes");
}

std::optional<std::string> asked_accuracy() {
  const char* const text = std::getenv(kFp32AccuracyVariable);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

void require_drop_in(const std::vector<std::string>& application, const std::string& command) {
  if (application.empty()) {
    throw UsageError("name the program behind --, as in gemm-tune " + command +
                     " -- python3 train.py");
  }
  if (std::getenv(kCountsVariable) != nullptr) {
    throw UsageError("gemm-tune " + command.substr(0, command.find(' ')) +
                     " is itself run by gemm-tune run, capture or speed-up, and only one of them "
                     "would see the program's calls: leave one out");
  }
  // Throws where the variable names no class.
  if (const std::optional<std::string> accuracy = asked_accuracy()) fp32_accuracy_named(*accuracy);
  library_file(kDropIn);
}

ApplicationEnd run_under_drop_in(const std::vector<std::string>& application,
                                 const DropInOptions& options,
                                 const std::filesystem::path& report) {
  ChildEnvironment environment;
  const auto preload = [&](const char* variable, const char* name) {
    environment.put_first(variable, preloadable(library_file(name), report.parent_path()).string());
  };
  preload("LD_PRELOAD", kDropIn);
  if (options.audit) preload("LD_AUDIT", kAuditModule);
  environment.set("GEMM_TUNE_BLAS_REPORT", std::filesystem::absolute(report).string());
  environment.set(kCountsVariable, std::filesystem::absolute(report).parent_path().string());
  std::string families;
  for (const std::string& file : options.families) {
    families += std::filesystem::absolute(file).string() + "\n";
  }
  if (!families.empty()) environment.set("GEMM_TUNE_BLAS_FAMILIES", families);
  // The default database has layers below it, one that is named has none.
  if (is_database_named(options)) {
    environment.set("GEMM_TUNE_DB", std::filesystem::absolute(database_path(options)).string());
  }
  std::vector<std::string> words = application;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const EndingSignals signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t ignored_by_main;
  sigemptyset(&ignored_by_main);
  sigaddset(&ignored_by_main, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &ignored_by_main);
  posix_spawnattr_setsigmask(&attributes, &signals.childs_mask());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const int failure = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(),
                                   environment.pointers().data());
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    throw UsageError("'" + excerpt(words[0]) + "' cannot be started: " + std::strerror(failure));
  }
  ApplicationEnd end = signals.passed_on_until_end(child);
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Of processes that did not come to write their own report.
  add_counts(report.parent_path(), report);
  return end;
}

}  // namespace gemm_tune
