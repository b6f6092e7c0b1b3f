// SPDX-License-Identifier: Apache-2.0
// Times kernels of known duration: they wait on the GPU's own clock.

#include <algorithm>
#include <numeric>

#include "gpu/compile/nvrtc.h"
#include "gpu/launch/kernel.h"
#include "tests/gpu/gpu_test.h"
#include "tests/matchers.h"
#include "tuner/measure/rotated_operands.h"
#include "tuner/measure/timing.h"

namespace gemm_tune {
namespace {

using testing::Ge;
using testing::Le;

constexpr const char* kWaitText = R"(
extern "C" __global__ void wait(unsigned long long ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < ns);
})";

class TimingGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    set_device(0);
    const CompileResult compiled =
        nvrtc_compile({"wait.cu", kWaitText, {}}, {}, query_device(0).arch, "wait");
    ASSERT_TRUE(compiled.ok) << compiled.log;
    wait_.emplace(compiled.cubin, "wait");
    stream_.emplace();
    nvml_.emplace(0);
    timer_.emplace(*stream_, *nvml_);
  }

  Launch wait(unsigned long long us) {
    return [this, us](int) {
      unsigned long long ns = 1000 * us;
      void* args[] = {&ns};
      wait_->launch({1}, 1, 0, stream_->get(), args);
    };
  }

  std::optional<LoadedKernel> wait_;
  std::optional<Stream> stream_;
  std::optional<Nvml> nvml_;
  std::optional<LaunchTimer> timer_;
};

TEST_F(TimingGpuTest, ALaunchTakesWhatItTakes) {
  const Timing timing = timer_->time(wait(1000), SampleRule());
  EXPECT_THAT(timing.median_us, AllOf(Ge(998), Le(1050)));
  EXPECT_GE(timing.samples_us.size(), 5U);
  EXPECT_EQ(timing.launches_per_sample, 1);
  EXPECT_EQ(timing.disturbance, "");
}

TEST_F(TimingGpuTest, ShortLaunchesAreBatched) {
  const Timing timing = timer_->time(wait(20), SampleRule());
  EXPECT_THAT(timing.median_us, AllOf(Ge(19), Le(25)));
  EXPECT_GE(timing.launches_per_sample, 20);
}

TEST_F(TimingGpuTest, ABeatenCandidateGetsOneSampleAndACloseOneThree) {
  timer_->time(wait(100), SampleRule());
  SampleRule rule;
  rule.best_us = 1000;
  EXPECT_THAT(timer_->time(wait(1400), rule).samples_us, SizeIs(1));
  EXPECT_THAT(timer_->time(wait(1065), rule).samples_us, SizeIs(3));
  EXPECT_THAT(timer_->time(wait(1030), rule).samples_us, SizeIs(Ge(5U)));
}

TEST_F(TimingGpuTest, FinalistsAreSampledInTheSameRounds) {
  const std::vector<Timing> timings =
      timer_->time_interleaved({wait(1200), wait(1000), wait(2000)}, FinalsRule());
  ASSERT_THAT(timings, SizeIs(3));
  EXPECT_THAT(timings[0].samples_us, Each(AllOf(Ge(1198), Le(1260))));
  EXPECT_THAT(timings[1].samples_us, Each(AllOf(Ge(998), Le(1050))));
  EXPECT_THAT(timings[2].samples_us, Each(AllOf(Ge(1998), Le(2100))));
  EXPECT_THAT(timings[0].samples_us, SizeIs(AllOf(Ge(15U), Le(31U))));
  EXPECT_THAT(timings[1].samples_us, SizeIs(timings[0].samples_us.size()));
  EXPECT_THAT(timings[2].samples_us, SizeIs(timings[0].samples_us.size()));
}

TEST_F(TimingGpuTest, ColdLaunchesRotateThroughAllCopies) {
  std::vector<int> used;
  const Launch once = wait(100);
  const Launch noting = [&](int copy) {
    used.push_back(copy);
    once(copy);
  };
  EXPECT_THAT(timer_->time_cold({noting}, 2), ElementsAre(AllOf(Ge(99), Le(110))));
  // One rotation to learn the time, then a batch of whole rotations that lasts 500 us.
  EXPECT_GE(used.size(), 6U);
  EXPECT_EQ(used.size() % 2, 0U);
  for (std::size_t i = 0; i < used.size(); ++i) EXPECT_EQ(used[i], static_cast<int>(i % 2));
}

TEST_F(TimingGpuTest, RotatedOperandsHoldTheOriginalsValues) {
  DeviceBuffer<float> a(6), b(12), c(8);
  a.copy_from_host(std::vector<float>{1, 2, 3, 4, 5, 6});
  b.copy_from_host(std::vector<float>(12, 7.5F));
  const GemmCall original =
      in_place(packed_call(packed_problem(2, 4, 3)), a.data(), b.data(), c.data());
  const auto rotated = rotate_operands(original, 1024, *stream_);  // 3 x 256 bytes each
  ASSERT_TRUE(rotated.has_value());
  ASSERT_THAT(rotated->copies, SizeIs(4));
  EXPECT_EQ(rotated->copies[0].A, a.data());
  std::vector<float> copied_a(6), copied_b(12);
  const GemmCall& last = rotated->copies[3];
  GT_CUDA(cudaMemcpy(copied_a.data(), last.A, 24, cudaMemcpyDeviceToHost));
  GT_CUDA(cudaMemcpy(copied_b.data(), last.B, 48, cudaMemcpyDeviceToHost));
  EXPECT_EQ(copied_a, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(copied_b, std::vector<float>(12, 7.5F));
  EXPECT_EQ(last.C, last.D);
  EXPECT_NE(last.D, c.data());
  EXPECT_NE(last.D, rotated->copies[2].D);
}

TEST_F(TimingGpuTest, RotatedOperandsHoldWholeBatchesInTheirLayout) {
  std::vector<float> values(60);
  std::iota(values.begin(), values.end(), 1.0F);
  DeviceBuffer<float> a(30), b(60), c(40);
  a.copy_from_host(std::span(values).first(30));
  b.copy_from_host(values);
  const GemmCall original =
      in_place(packed_call(packed_problem(2, 4, 3, Layout::tt, 5)), a.data(), b.data(), c.data());
  const auto rotated = rotate_operands(original, 1024, *stream_);
  ASSERT_TRUE(rotated.has_value());
  std::vector<float> copied(60);
  GT_CUDA(cudaMemcpy(copied.data(), rotated->copies[1].A, 120, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(std::equal(values.begin(), values.begin() + 30, copied.begin()));
  GT_CUDA(cudaMemcpy(copied.data(), rotated->copies[1].B, 240, cudaMemcpyDeviceToHost));
  EXPECT_EQ(copied, values);
}

}  // namespace
}  // namespace gemm_tune
