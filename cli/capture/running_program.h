// SPDX-License-Identifier: Apache-2.0
// A program that another `gemm-tune run` has started, as this process sees it in /proc.
//
// One thread; end() from any.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cli/capture/called_problems.h"
#include "tuner/process/scratch_dir.h"

namespace gemm_tune {

// The text of an environment in /proc: a name, "=" and a value before each zero byte. Of a name
// that comes twice the first counts, as for getenv(). Pure.
std::map<std::string, std::string> parse_environment(const std::string& text);

class RunningProgram {
 public:
  // pid: of a process of the program, or of the gemm-tune above it. Throws UsageError where there
  // is no such process, it is another user's, or it does not run under the drop-in.
  explicit RunningProgram(int pid);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  int pid() const { return pid_; }
  std::string command() const { return command_; }  // its words, with blanks between them

  // The database whose winners it is served by. Throws DatabaseError where it has none.
  std::filesystem::path database() const;

  // What its processes have multiplied so far.
  CalledProblems called();

  bool has_ended() const { return awaited_end(0); }
  // Waits so long for its end, or until a signal comes; returns whether it has ended.
  bool awaited_end(int ms) const;

 private:
  int pid_;
  int end_ = -1;  // can be read once the process has ended
  std::string command_;
  std::map<std::string, std::string> environment_;
  const ScratchDir scratch_{"gemm-tune-running"};
  CalledProblems called_;
};

}  // namespace gemm_tune
