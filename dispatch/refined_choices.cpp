// SPDX-License-Identifier: Apache-2.0
#include "dispatch/refined_choices.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/files/input_file.h"
#include "core/files/write_signals.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

constexpr std::string_view kFormat = "gemm-tune refined choices ";
constexpr std::string_view kFirstLine = "gemm-tune refined choices 1";

std::string key_of(const DeviceKey& device, const std::string& question) {
  return device.arch + '\t' + printable(device.name) + '\t' + std::to_string(device.sm_count) +
         '\t' + question;
}

// One write, so that lines of several processes do not mix.
void append(const std::filesystem::path& file, const std::string& line) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return;
  struct stat state {};
  const bool is_new = ::fstat(descriptor, &state) == 0 && state.st_size == 0;
  const WriteSignalsHeld held;
  const std::string text = (is_new ? std::string(kFirstLine) + '\n' : "") + line + '\n';
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
  ::close(descriptor);
}

}  // namespace

std::string refined_question(const Problem& problem, const CallForm& form) {
  std::string text = to_string(problem);
  if (form.c == COperand::separate) text += " separate_c";
  return text;
}

RefinedChoices::RefinedChoices(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown)) return;
  std::istringstream lines(read_input_file(file_, "file of refined choices"));
  std::string line;
  if (!std::getline(lines, line)) return;
  if (line != kFirstLine) {
    const bool is_later = line.starts_with(kFormat);
    throw UsageError("'" + excerpt(file_.string()) + "' " +
                     (is_later ? "was written by a later version of gemm-tune"
                               : "is no file of refined choices") +
                     ": name another, or one that is missing");
  }
  while (std::getline(lines, line)) {
    const std::size_t tab = line.rfind('\t');
    if (tab != std::string::npos) answers_[line.substr(0, tab)] = line.substr(tab + 1);
  }
}

std::optional<std::string> RefinedChoices::find(const DeviceKey& device,
                                                const std::string& question) const {
  const std::lock_guard reading(mutex_);
  const auto found = answers_.find(key_of(device, question));
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

void RefinedChoices::add(const DeviceKey& device, const std::string& question,
                         const std::string& answer) {
  const std::lock_guard adding(mutex_);
  const std::string key = key_of(device, question);
  answers_[key] = answer;
  append(file_, key + '\t' + answer);
}

}  // namespace gemm_tune
