// SPDX-License-Identifier: Apache-2.0
#include "core/files/write_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace gemm_tune {
namespace {

bool is_waiting(int signal) {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, signal) == 1;
}

TEST(WriteSignalsHeldTest, AWriteIntoAPipeThatNobodyReadsFailsWithoutASignal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  {
    const WriteSignalsHeld held;
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_TRUE(is_waiting(SIGPIPE));
  }
  EXPECT_FALSE(is_waiting(SIGPIPE));
  ::close(ends[1]);
}

TEST(WriteSignalsHeldTest, ASignalOfTheProgramsOwnThatWaitsStays) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  raise(SIGPIPE);
  { const WriteSignalsHeld held; }
  EXPECT_TRUE(is_waiting(SIGPIPE));
  const timespec none{};
  EXPECT_EQ(sigtimedwait(&pipe, nullptr, &none), SIGPIPE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace gemm_tune
