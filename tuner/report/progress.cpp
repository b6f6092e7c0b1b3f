// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTerminalInterval{200};
constexpr milliseconds kPlainInterval{10'000};
constexpr const char* kCut = "...";

std::string text_of(milliseconds left) {
  const auto seconds = left.count() / 1000;
  return fmt::format("{}:{:02} left", seconds / 60, seconds % 60);
}

std::optional<milliseconds> expected_left(std::size_t done, std::size_t total,
                                          milliseconds elapsed) {
  if (done == 0 || done >= total) return std::nullopt;
  const double share = static_cast<double>(total - done) / static_cast<double>(done);
  return milliseconds(static_cast<milliseconds::rep>(static_cast<double>(elapsed.count()) * share));
}

}  // namespace

std::string time_left(std::size_t done, std::size_t total, milliseconds elapsed) {
  const std::optional<milliseconds> left = expected_left(done, total, elapsed);
  return left ? text_of(*left) : "";
}

std::string progress_line(const Progress& progress, const std::string& left, std::size_t columns) {
  std::string number;
  if (progress.problems > 1) number = fmt::format("{}/{} ", progress.number, progress.problems);
  std::string rest = fmt::format(": {} {}/{}", progress.stage, progress.done, progress.budget);
  if (progress.best_us) {
    rest += fmt::format(", best {:.5g} us{}", *progress.best_us,
                        progress.is_predicted ? " (predicted)" : "");
  }
  if (!left.empty()) rest += ", " + left;
  std::string problem = to_string(*progress.problem);
  const std::size_t others = columns_of(number) + columns_of(rest);
  if (others + columns_of(problem) > columns) {
    const std::size_t kept = columns - std::min(columns, others + columns_of(kCut));
    problem = cut_to_columns(problem, kept) + kCut;
  }
  return cut_to_columns(number + problem + rest, columns);
}

std::string RunProgress::left(const Progress& progress, milliseconds elapsed) {
  if (progress.number != number_) {
    done_before_ += done_;  // a search may end before its budget is spent
    number_ = progress.number;
  }
  done_ = progress.done - progress.recalled;
  const std::size_t begun = done_before_ + progress.budget - progress.recalled;
  const std::size_t later = progress.problems - progress.number;
  const std::size_t total = begun + begun * later / progress.number;
  std::optional<milliseconds> left = expected_left(done_before_ + done_, total, elapsed);
  if (left && limit_) left = std::min(*left, std::max(*limit_ - elapsed, milliseconds::zero()));
  return left ? text_of(*left) : "";
}

ProgressPrinter::ProgressPrinter(bool quiet, std::optional<milliseconds> limit)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      run_(limit),
      start_(std::chrono::steady_clock::now()) {}

ProgressPrinter::~ProgressPrinter() { clear(); }

void ProgressPrinter::clear() {
  if (dirty_) std::fputs("\r\033[K", stderr);
  dirty_ = false;
}

void ProgressPrinter::show(const Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::string left =
      run_.left(progress, std::chrono::duration_cast<milliseconds>(now - start_));
  const bool news = progress.number != last_number_ || progress.stage != last_stage_;
  if (!news && now - last_shown_ < (terminal_ ? kTerminalInterval : kPlainInterval)) return;
  last_number_ = progress.number;
  last_stage_ = progress.stage;
  last_shown_ = now;
  // A line that fills the last column would wrap on some terminals.
  const std::size_t columns =
      terminal_ ? terminal_columns(STDERR_FILENO) - 1 : std::numeric_limits<std::size_t>::max();
  const std::string line = progress_line(progress, left, columns);
  clear();
  std::fputs(terminal_ ? line.c_str() : (line + "\n").c_str(), stderr);
  std::fflush(stderr);
  dirty_ = terminal_;
}

}  // namespace gemm_tune
