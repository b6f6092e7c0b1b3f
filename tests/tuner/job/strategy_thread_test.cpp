// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/strategy_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace gemm_tune {
namespace {

using Points = std::vector<std::size_t>;

// Asks for point after point once it may; remembers what it was told and by whom.
struct Slow : Strategy {
  Points ask(std::size_t count) override {
    may_answer.wait(false);
    asking_thread = std::this_thread::get_id();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    interrupts_blocked = sigismember(&mask, SIGINT) == 1;
    if (broken) throw std::runtime_error("out of ideas");
    Points points;
    while (points.size() < count && next < 3) points.push_back(next++);
    return points;
  }
  void tell(std::size_t point, std::optional<double>) override { told.push_back(point); }
  void spare(std::size_t point) override { spared.push_back(point); }
  std::optional<double> expected_gain(std::size_t tries) override {
    return static_cast<double>(told.size()) + static_cast<double>(tries) / 100;
  }

  void allow() {
    may_answer = true;
    may_answer.notify_all();
  }

  std::atomic<bool> may_answer = true;
  bool broken = false, interrupts_blocked = false;
  std::thread::id asking_thread;
  std::size_t next = 0;
  Points told, spared;
};

bool is_readable(int fd) {
  pollfd one = {fd, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

void await_readable(int fd) {
  pollfd one = {fd, POLLIN, 0};
  while (poll(&one, 1, -1) != 1) {
  }
}

class StrategyThreadTest : public testing::Test {
 protected:
  Slow* const strategy_ = new Slow;
  StrategyThread thread_{std::unique_ptr<Strategy>(strategy_)};
};

TEST_F(StrategyThreadTest, AnswersThroughItsDescriptorWhenItIsDone) {
  strategy_->may_answer = false;
  thread_.begin_ask(1);
  EXPECT_TRUE(thread_.is_asking());
  EXPECT_FALSE(is_readable(thread_.fd()));
  EXPECT_EQ(thread_.answer(), std::nullopt);
  strategy_->allow();
  await_readable(thread_.fd());
  std::optional<Points> points;
  while (!points) points = thread_.answer();
  EXPECT_EQ(*points, Points{0});
  EXPECT_NE(strategy_->asking_thread, std::this_thread::get_id());
  EXPECT_TRUE(strategy_->interrupts_blocked);
  EXPECT_FALSE(thread_.is_asking());
  EXPECT_FALSE(is_readable(thread_.fd()));
  EXPECT_EQ(thread_.answer(), std::nullopt);
}

TEST_F(StrategyThreadTest, ResultsToldDuringAnAskCountFromTheNextAskOn) {
  strategy_->may_answer = false;
  thread_.tell(7, 1.0);
  thread_.begin_ask(1);
  thread_.tell(8, std::nullopt);
  thread_.spare(9);
  EXPECT_EQ(strategy_->told, Points{7});
  EXPECT_EQ(strategy_->spared, Points{});
  strategy_->allow();
  EXPECT_EQ(thread_.expected_gain(50), 2.5);  // after the ask
  EXPECT_EQ(strategy_->told, (Points{7, 8}));
  EXPECT_EQ(strategy_->spared, Points{9});
  EXPECT_EQ(thread_.answer(), Points{0});
}

TEST_F(StrategyThreadTest, SaysWhenTheSpaceIsExhausted) {
  EXPECT_EQ(thread_.ask(2), (Points{0, 1}));
  thread_.begin_ask(5);
  await_readable(thread_.fd());
  std::optional<Points> points;
  while (!points) points = thread_.answer();
  EXPECT_EQ(*points, Points{2});
  thread_.begin_ask(5);
  await_readable(thread_.fd());
  for (points.reset(); !points;) points = thread_.answer();
  EXPECT_TRUE(points->empty());
}

TEST_F(StrategyThreadTest, PassesOnWhatTheStrategyThrows) {
  strategy_->broken = true;
  thread_.begin_ask(1);
  await_readable(thread_.fd());
  EXPECT_THROW(while (thread_.is_asking()) thread_.answer(), std::runtime_error);
}

}  // namespace
}  // namespace gemm_tune
