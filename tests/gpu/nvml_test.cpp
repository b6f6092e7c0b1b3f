// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include "gpu/device.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

TEST(NvmlTest, WhatProtectsTheCardIsASlowdown) {
  EXPECT_EQ(slowdown_text(0x08), "hardware slowdown");
  EXPECT_EQ(slowdown_text(0x20), "software thermal slowdown");
  EXPECT_EQ(slowdown_text(0x48), "hardware thermal slowdown");
  EXPECT_EQ(slowdown_text(0x88), "power brake");
}

TEST(NvmlTest, IdleSetClocksAndTheSoftwarePowerCapAreNone) {
  EXPECT_EQ(slowdown_text(0), "");
  EXPECT_EQ(slowdown_text(0x01 | 0x02 | 0x04 | 0x10 | 0x100), "");
}

TEST(NvmlTest, ReadsProcStatWhateverTheName) {
  EXPECT_EQ(parse_proc_stat("4242 (python3) S 17 4242 17 34816 0 -1"),
            (ProcessInfo{4242, 17, "python3"}));
  EXPECT_EQ(parse_proc_stat("7 (a) S 9 (b) R 1 7 7"), (ProcessInfo{7, 1, "a) S 9 (b"}));
  EXPECT_EQ(parse_proc_stat(""), std::nullopt);
  EXPECT_EQ(parse_proc_stat("7 (cut"), std::nullopt);
  EXPECT_EQ(parse_proc_stat("7 (cut) "), std::nullopt);
}

TEST(NvmlTest, OthersAreThoseOfOtherRuns) {
  const ProcessInfo self{101, 100, "gemm-tune"};
  const ProcessInfo parent{100, 50, "gemm-tune"}, spare{102, 100, "gemm-tune"};
  const ProcessInfo second_run{201, 200, "gemm-tune"}, training{4242, 50, "python3"};
  EXPECT_THAT(others_among({self, parent, spare}, self), IsEmpty());
  EXPECT_THAT(others_among({training, self, second_run}, self),
              ElementsAre("python3 (pid 4242)", "gemm-tune (pid 201)"));
}

TEST(NvmlTest, WithoutADeviceEveryAnswerIsEmpty) {
  const Nvml nvml(device_count());  // one past the last
  EXPECT_EQ(nvml.conditions(), std::nullopt);
  EXPECT_EQ(nvml.slowdown(), "");
  EXPECT_THAT(nvml.other_processes(), IsEmpty());
}

}  // namespace
}  // namespace gemm_tune
