// SPDX-License-Identifier: Apache-2.0
// A file of what was fastest when it was timed at first sight of a problem, so that no process
// times that again.
//
// Text: a first line that names the format, then a line for each answer: architecture, device's
// name, its SMs, question and answer, with tabs between them. The last line for a question counts.
// Lines are appended whole, so that many processes may share a file. Any thread.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/problem/gemm_call.h"
#include "db/record.h"

namespace gemm_tune {

// The problem, and the form of the call if it is not in place without an epilogue: another kernel
// may be the fastest then. As in "64x64x64:epilogue=relu separate_c".
std::string refined_question(const Problem& problem, const CallForm& form);

class RefinedChoices {
 public:
  // Reads the file; one that is missing or empty has no answers. Throws UsageError where it cannot
  // be read or is of another format.
  explicit RefinedChoices(std::filesystem::path file);

  // A config's text; of cublasLt's algorithms with the library's version behind a blank.
  std::optional<std::string> find(const DeviceKey& device, const std::string& question) const;

  // Keeps the answer, and appends it to the file. A file that cannot be written costs other
  // processes the time to refine anew, nothing else.
  void add(const DeviceKey& device, const std::string& question, const std::string& answer);

 private:
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;  // guarded by mutex_
};

}  // namespace gemm_tune
