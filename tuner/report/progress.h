// SPDX-License-Identifier: Apache-2.0
// Shows how a run gets on, on stderr: one line rewritten on a terminal, never longer than that is
// wide; a plain line now and then elsewhere; nothing with --quiet.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "tuner/job/problem_report.h"

namespace gemm_tune {

// "1:05 left" from the share done and the time it took; "" before anything is done. Pure.
std::string time_left(std::size_t done, std::size_t total, std::chrono::milliseconds elapsed);

// "2/48 1024x1024x1024: searching 12/64, best 50 us (predicted), 1:05 left". left: of time_left().
// Where the line would take more columns than that, the problem's text is cut first. Pure.
std::string progress_line(const Progress& progress, const std::string& left, std::size_t columns);

// What is left of a run, from what it has done. Candidates that earlier runs tried take no time and
// count as nothing. Pure.
class RunProgress {
 public:
  explicit RunProgress(std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : limit_(limit) {}

  // The time left for all problems at once, as time_left(): those not begun are taken to be as much
  // work as the others on average, and a limit of the run's time bounds the rest.
  std::string left(const Progress& progress, std::chrono::milliseconds elapsed);

 private:
  std::optional<std::chrono::milliseconds> limit_;
  std::size_t number_ = 0;                  // of the problem told last
  std::size_t done_ = 0, done_before_ = 0;  // of that one, and of those before it
};

class ProgressPrinter {
 public:
  // limit: of the run's time, if any.
  explicit ProgressPrinter(bool quiet,
                           std::optional<std::chrono::milliseconds> limit = std::nullopt);
  ~ProgressPrinter();  // leaves the terminal's line clean
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const Progress& progress);

  // Takes the line off a terminal, for a result to be printed.
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool dirty_ = false;  // a line stands on the terminal
  RunProgress run_;
  std::string last_stage_;
  std::size_t last_number_ = 0;
  std::chrono::steady_clock::time_point start_, last_shown_;
};

}  // namespace gemm_tune
