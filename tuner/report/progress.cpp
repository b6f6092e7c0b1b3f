// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "tuner/report/report.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTerminalInterval{200};
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

std::string lanes_text(const Progress& progress, const char* compile, const char* separator) {
  const auto one = [](const char* name, const Lanes& lanes) {
    return fmt::format("{} {}/{}", name, lanes.busy, lanes.all);
  };
  std::string text;
  if (progress.compilers.all > 0) text += separator + one(compile, progress.compilers);
  if (progress.gpus.all > 0) text += separator + one("GPU", progress.gpus);
  return text;
}

// A progress line in three lengths: what follows the problem's text.
struct Lines {
  std::string problem, full, terse, without_lanes;
};

Lines lines_of(const Progress& progress, const std::string& left) {
  Lines lines;
  if (progress.problems > 1)
    lines.problem = fmt::format("{}/{} ", progress.number, progress.problems);
  lines.problem += to_string(*progress.problem);
  const std::string tried = fmt::format(": {}/{} tried", progress.done, progress.budget);
  const std::string stage = progress.stage == kSearching ? "" : ", " + progress.stage;
  const std::string end = left.empty() ? "" : ", " + left;
  std::string best, terse_best;
  if (progress.best_us) {
    terse_best = best = ", best " + duration_text(*progress.best_us);
    if (progress.is_predicted) {
      best += " (predicted)";
      terse_best = best;
    } else if (progress.cublas_us) {
      const double share = *progress.cublas_us / *progress.best_us;
      best += fmt::format(" ({:.3f} of cuBLAS)", share);
      terse_best = fmt::format(", {}, {:.3g} of cuBLAS", duration_text(*progress.best_us), share);
    }
  }
  lines.full = tried + stage + best + lanes_text(progress, "compile", ", ") + end;
  const std::string terse =
      fmt::format(" {}/{}{}{}", progress.done, progress.budget, stage, terse_best);
  const std::string lanes = lanes_text(progress, "CPU", " ");
  lines.terse = terse + (lanes.empty() ? "" : "," + lanes) + end;
  lines.without_lanes = terse + end;
  return lines;
}

}  // namespace

std::string time_left(std::size_t done, std::size_t total, milliseconds elapsed) {
  const std::optional<milliseconds> left = expected_left(done, total, elapsed);
  return left ? text_of(*left) : "";
}

std::string progress_line(const Progress& progress, const std::string& left, std::size_t columns) {
  const Lines lines = lines_of(progress, left);
  for (const std::string& line : {lines.full, lines.terse, lines.without_lanes}) {
    if (columns_of(lines.problem) + columns_of(line) <= columns) return lines.problem + line;
  }
  const std::size_t taken = columns_of(lines.without_lanes) + columns_of(kCut);
  const std::string problem = cut_to_columns(lines.problem, columns - std::min(columns, taken));
  return cut_to_columns(problem + kCut + lines.without_lanes, columns);
}

void RunProgress::note(const Progress& progress) {
  problems_ = progress.problems;
  const bool is_over = progress.stage == kFinished;
  const std::size_t done = progress.done - progress.recalled;
  // A search may end before its budget is spent.
  begun_[progress.number] = {done, is_over ? done : progress.budget - progress.recalled, is_over};
}

bool RunProgress::is_first(std::size_t number) const {
  const auto first = std::find_if(begun_.begin(), begun_.end(),
                                  [](const auto& entry) { return !entry.second.is_over; });
  return first != begun_.end() && first->first == number;
}

std::string RunProgress::left(milliseconds elapsed) const {
  std::size_t done = 0, begun = 0;
  for (const auto& [number, work] : begun_) {
    done += work.done;
    begun += work.all;
  }
  const std::size_t later = problems_ - std::min(problems_, begun_.size());
  const std::size_t all = begun + begun * later / std::max<std::size_t>(begun_.size(), 1);
  std::optional<milliseconds> left = expected_left(done, all, elapsed);
  if (left && limit_) left = std::min(*left, std::max(*limit_ - elapsed, milliseconds::zero()));
  return left ? text_of(*left) : "";
}

milliseconds plain_interval(milliseconds elapsed) {
  return std::clamp(elapsed / 10, milliseconds(10'000), milliseconds(60'000));
}

ProgressPrinter::ProgressPrinter(bool quiet, std::optional<milliseconds> limit,
                                 std::function<Clock::time_point()> now)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      run_(limit),
      now_(std::move(now)),
      start_(now_()) {}

ProgressPrinter::~ProgressPrinter() { clear(); }

void ProgressPrinter::clear() {
  if (dirty_) std::fputs("\r\033[K", stderr);
  dirty_ = false;
}

void ProgressPrinter::show(const Progress& progress) {
  if (quiet_) return;
  run_.note(progress);
  if (!run_.is_first(progress.number)) return;
  const auto now = now_();
  const auto elapsed = std::chrono::duration_cast<milliseconds>(now - start_);
  const bool news = progress.number != last_number_ || progress.stage != last_stage_;
  const milliseconds interval = terminal_ ? kTerminalInterval : plain_interval(elapsed);
  if (has_shown_ && !(terminal_ && news) && now - last_shown_ < interval) return;
  has_shown_ = true;
  last_number_ = progress.number;
  last_stage_ = progress.stage;
  last_shown_ = now;
  // A line that fills the last column would wrap on some terminals.
  const std::size_t columns =
      terminal_ ? terminal_columns(STDERR_FILENO) - 1 : std::numeric_limits<std::size_t>::max();
  const std::string line = progress_line(progress, run_.left(elapsed), columns);
  clear();
  std::fputs(terminal_ ? line.c_str() : (line + "\n").c_str(), stderr);
  std::fflush(stderr);
  dirty_ = terminal_;
}

}  // namespace gemm_tune
