// SPDX-License-Identifier: Apache-2.0
// What is written to standard error as a pipe or as a terminal, read as far as a test waits for it.
#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace gemm_tune {

// What is behind standard error while this lives: a pipe or a terminal.
class Stderr {
 public:
  enum class Kind { pipe, terminal };

  explicit Stderr(Kind kind) {
    std::array<int, 2> ends{-1, -1};
    const bool made = kind == Kind::pipe
                          ? pipe(ends.data()) == 0
                          : openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) == 0;
    EXPECT_TRUE(made);
    reader_ = ends[0];
    std::fflush(stderr);
    before_ = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~Stderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(reader_);
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;

  // Everything so far, once it holds `end` after the place where the last call's text ended.
  const std::string& until(const std::string& end) {
    std::array<char, 256> chunk{};
    for (ssize_t size = 0; text_.find(end, seen_) == std::string::npos &&
                           (size = read(reader_, chunk.data(), chunk.size())) > 0;) {
      text_.append(chunk.data(), static_cast<std::size_t>(size));
    }
    seen_ = text_.size();
    return text_;
  }

  // Everything, when nothing more is written.
  const std::string& whole() {
    std::fputs("end", stderr);
    std::fflush(stderr);
    return until("end");
  }

 private:
  int reader_ = -1, before_ = -1;
  std::string text_;
  std::size_t seen_ = 0;
};

}  // namespace gemm_tune
