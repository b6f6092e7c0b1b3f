// SPDX-License-Identifier: Apache-2.0
#include "cli/capture/running_program.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/capture/under_drop_in.h"
#include "core/error.h"
#include "core/text/printable.h"
#include "db/database.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCounts = "GEMM_TUNE_BLAS_COUNTS";
constexpr const char* kReport = "GEMM_TUNE_BLAS_REPORT";

fs::path folder_of(int pid) { return fs::path("/proc") / std::to_string(pid); }

// Nothing where the file cannot be opened. Files of /proc have no size.
std::optional<std::string> text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in) return std::nullopt;
  if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  return text.str();
}

std::map<std::string, std::string> environment_of(int pid) {
  return parse_environment(text_of_file(folder_of(pid) / "environ").value_or(""));
}

std::vector<int> children_of(int pid) {
  std::istringstream words(
      text_of_file(folder_of(pid) / "task" / std::to_string(pid) / "children").value_or(""));
  std::vector<int> children;
  for (int child = 0; words >> child;) children.push_back(child);
  return children;
}

std::string words_of(int pid) {
  std::string words = text_of_file(folder_of(pid) / "cmdline").value_or("");
  std::replace(words.begin(), words.end(), '\0', ' ');
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

// Whether the process is this one's user's. Its environment names files that will be written: root
// must not write them for others.
bool is_own(int pid) {
  struct stat status {};
  return ::stat(folder_of(pid).c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

// Of the process, or of a child of it, that counts its products for others to read.
int counting_process(int pid) {
  const std::string name = "process " + std::to_string(pid);
  std::error_code ignored;
  if (!fs::exists(folder_of(pid), ignored)) throw UsageError("there is no " + name);
  if (!is_own(pid)) throw UsageError(name + " is another user's: become its user");
  if (environment_of(pid).contains(kCounts)) return pid;
  for (const int child : children_of(pid)) {
    if (is_own(child) && environment_of(child).contains(kCounts)) return child;
  }
  throw UsageError(name + " (" + excerpt(words_of(pid)) +
                   ") does not run under gemm-tune: start the program by gemm-tune run -- PROGRAM, "
                   "and name its process");
}

}  // namespace

std::map<std::string, std::string> parse_environment(const std::string& text) {
  std::map<std::string, std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (const std::size_t sign = line.find('='); sign != std::string::npos) {
      all.emplace(line.substr(0, sign), line.substr(sign + 1));
    }
    at = end + 1;
  }
  return all;
}

RunningProgram::RunningProgram(int pid) : pid_(counting_process(pid)) {
  // Before its files are read: another process may get the number of one that has ended.
  end_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (end_ < 0) {
    throw UsageError("process " + std::to_string(pid_) +
                     " cannot be watched: " + std::strerror(errno));
  }
  environment_ = environment_of(pid_);
  command_ = words_of(pid_);
}

RunningProgram::~RunningProgram() { ::close(end_); }

std::filesystem::path RunningProgram::database() const {
  const auto value = [&](const char* name) {
    const auto found = environment_.find(name);
    return found == environment_.end() ? nullptr : found->second.c_str();
  };
  const fs::path path =
      default_database_path(value("GEMM_TUNE_DB"), value("XDG_DATA_HOME"), value("HOME"));
  if (path.is_absolute()) return path;
  std::error_code unreadable;
  return fs::read_symlink(folder_of(pid_) / "cwd", unreadable) / path;
}

// The reports of its processes that have ended, and the counts of the others. A line that another
// process is about to write, or a folder that is about to go with the program, leaves what was
// known.
CalledProblems RunningProgram::called() {
  const fs::path report = scratch_.path() / "report.jsonl";
  try {
    fs::remove(report);
    if (const auto theirs = environment_.find(kReport); theirs != environment_.end()) {
      if (fs::exists(theirs->second)) fs::copy_file(theirs->second, report);
    }
    add_counts(environment_[kCounts], report);
    called_ = read_called_problems(report);
  } catch (const fs::filesystem_error&) {
  } catch (const UsageError&) {
    if (called_.problems.empty()) throw;
  }
  return called_;
}

bool RunningProgram::awaited_end(int ms) const {
  pollfd end{end_, POLLIN, 0};
  return ::poll(&end, 1, ms) > 0;
}

}  // namespace gemm_tune
