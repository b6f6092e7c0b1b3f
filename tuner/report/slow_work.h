// SPDX-License-Identifier: Apache-2.0
// Reports on stderr the progress of work that a person would otherwise wait for in silence.
//
// Prints nothing if the work ends within two seconds. Then it prints one line that is rewritten on
// a terminal, elsewhere a plain line now and then. A separate thread prints, so that steps of the
// work may be long. For commands that print their results at the end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace gemm_tune {

class SlowWork {
 public:
  struct Pace {
    std::chrono::milliseconds first = std::chrono::seconds(2);  // from the start to the first line
    std::chrono::milliseconds on_terminal{500};                 // from each line to the next
    std::chrono::milliseconds elsewhere = std::chrono::seconds(10);
  };

  // stage: as in "checking /data/tune.db". Prints nothing if `quiet`.
  SlowWork(bool quiet, std::string stage) : SlowWork(quiet, std::move(stage), Pace()) {}
  SlowWork(bool quiet, std::string stage, const Pace& pace);
  ~SlowWork();  // clears the terminal's line
  SlowWork(const SlowWork&) = delete;
  SlowWork& operator=(const SlowWork&) = delete;

  // Sets the current stage. From any thread.
  void now_at(std::string stage);

  // Clears the terminal's line, so that a result can be printed.
  void clear();

 private:
  void write_stages(const Pace& pace);
  void clear_line();  // the caller holds the mutex

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string stage_;
  const bool terminal_;
  bool has_ended_ = false;
  bool is_shown_ = false;  // the terminal shows a line
  std::thread writer_;     // last: it uses the members above
};

}  // namespace gemm_tune
