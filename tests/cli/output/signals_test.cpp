// SPDX-License-Identifier: Apache-2.0
#include "cli/output/signals.h"

#include <gtest/gtest.h>

namespace gemm_tune {
namespace {

TEST(SignalsTest, ASecondSignalWithinASecondIsTheSameRequestAndALaterOneEndsTheProgram) {
  SignalRequests requests;
  EXPECT_EQ(requests.at(5000), SignalRequests::Request::interruption);
  EXPECT_EQ(requests.at(5000), SignalRequests::Request::the_same_again);
  EXPECT_EQ(requests.at(6000), SignalRequests::Request::the_same_again);
  EXPECT_EQ(requests.at(6001), SignalRequests::Request::exit);
}

}  // namespace
}  // namespace gemm_tune
