#include "tuner/progress.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

using namespace std::chrono_literals;

TEST(ProgressTest, TellsTheTimeLeftFromTheShareDone) {
  EXPECT_EQ(time_left(0, 100, 10s), "");
  EXPECT_EQ(time_left(25, 100, 10s), "0:30 left");
  EXPECT_EQ(time_left(10, 100, 15s), "2:15 left");
  EXPECT_EQ(time_left(100, 100, 10s), "");
}

}  // namespace
}  // namespace gemm_tune
