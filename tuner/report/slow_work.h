// SPDX-License-Identifier: Apache-2.0
// Says on stderr how far work has come that takes longer than a person waits without a word.
//
// Nothing where the work ends within two seconds; then one line rewritten on a terminal, a plain
// line now and then elsewhere. A thread of its own writes, so that no step of the work has to be
// short. For commands that print their results at the end.
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

  // stage: as in "checking /data/tune.db". Nothing is written where `quiet`.
  SlowWork(bool quiet, std::string stage) : SlowWork(quiet, std::move(stage), Pace()) {}
  SlowWork(bool quiet, std::string stage, const Pace& pace);
  ~SlowWork();  // leaves the terminal's line clean
  SlowWork(const SlowWork&) = delete;
  SlowWork& operator=(const SlowWork&) = delete;

  // What is being done from now on. From any thread.
  void now_at(std::string stage);

  // Takes the line off a terminal, for a result to be printed.
  void clear();

 private:
  void write_stages(const Pace& pace);
  void clear_line();  // with the mutex held

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string stage_;
  const bool terminal_;
  bool has_ended_ = false;
  bool is_shown_ = false;  // a line stands on the terminal
  std::thread writer_;     // last: it uses the others
};

}  // namespace gemm_tune
