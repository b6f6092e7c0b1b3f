// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile/nvrtc.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/error.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

NvrtcSource source(const std::string& text) { return {"test.cu", text, {}}; }

constexpr const char* kScale = R"(
#include "kernel_templates/device/factor.cuh"
extern "C" __global__ void gemm(float* x) { x[threadIdx.x] *= factor(); }
)";

class NvrtcArch : public ::testing::TestWithParam<const char*> {};

TEST_P(NvrtcArch, CompilesToAnElfImageAndReportsRegisters) {
  const CompileResult result = nvrtc_compile(
      {"scale.cu",
       kScale,
       {{"kernel_templates/device/factor.cuh", "constexpr float factor() { return FACTOR; }\n"}}},
      {"FACTOR=2.5f"}, GetParam());
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_THAT(result.cubin, StartsWith("\177ELF"));
  EXPECT_GE(result.resources.registers, 4);
  EXPECT_LE(result.resources.registers, 32);
  EXPECT_EQ(result.resources.spill_bytes, 0);
  EXPECT_EQ(result.resources.smem_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, NvrtcArch,
                         ::testing::Values("sm_75", "sm_80", "sm_86", "sm_90", "sm_120"));

TEST(Nvrtc, ReportsStaticSharedMemory) {
  const CompileResult result = nvrtc_compile(
      source("extern \"C\" __global__ void gemm(float* x) {"
             "  __shared__ float s[1000]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
             "  x[threadIdx.x] = s[threadIdx.x ^ 31]; }"),
      {}, "sm_86");
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_EQ(result.resources.smem_bytes, 4000);
}

volatile sig_atomic_t requests = 0;
void on_request(int) { requests = requests + 1; }

// NVRTC puts a handler of its own in place at a process's first compilation.
TEST(Nvrtc, ASignalThatComesWhileItCompilesMeetsTheProgramsOwnHandler) {
  struct sigaction own {};
  own.sa_handler = on_request;
  sigaction(SIGTERM, &own, nullptr);
  sigset_t request, before;
  sigemptyset(&request);
  sigaddset(&request, SIGTERM);
  std::atomic<bool> is_done = false, is_sent = false;
  pthread_sigmask(SIG_BLOCK, &request, &before);  // the sender is not to get it
  std::thread sender([&] {
    while (!is_done && !is_sent) {
      struct sigaction now {};
      sigaction(SIGTERM, nullptr, &now);
      if (now.sa_handler == on_request) continue;
      kill(getpid(), SIGTERM);
      is_sent = true;
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const CompileResult result =
      nvrtc_compile(source("extern \"C\" __global__ void gemm() {}"), {}, "sm_86");
  is_done = true;
  sender.join();
  EXPECT_TRUE(result.ok) << result.log;
  if (!is_sent) GTEST_SKIP() << "NVRTC has set no handler, or had compiled before";
  EXPECT_EQ(requests, 1);
}

TEST(Nvrtc, AnErrorInTheTextIsAResultThatCarriesTheCompilersWords) {
  const CompileResult result = nvrtc_compile(
      source("extern \"C\" __global__ void gemm() { undefined_name(); }"), {}, "sm_86");
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.cubin.empty());
  EXPECT_THAT(result.log, HasSubstr("undefined_name"));
}

TEST(Nvrtc, NamesStaticSharedMemoryWhereTheCompilerGivesNoReason) {
  const CompileResult result = nvrtc_compile(
      source("extern \"C\" __global__ void gemm(float* x) {"
             "  __shared__ float s[20000]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
             "  x[threadIdx.x] = s[threadIdx.x ^ 31]; }"),
      {}, "sm_86");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("80000 bytes of static shared memory"));
}

TEST(Nvrtc, ATextWithoutTheEntryIsNotOk) {
  const CompileResult result =
      nvrtc_compile(source("extern \"C\" __global__ void other() {}"), {}, "sm_86");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("no entry function 'gemm'"));
}

TEST(Nvrtc, RefusesAnUnsupportedArchitectureNamingTheSupportedOnes) {
  EXPECT_THAT([] { nvrtc_compile(source(kScale), {}, "sm_999"); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("'sm_999'"), HasSubstr("sm_86"))));
  EXPECT_THROW(nvrtc_compile(source(kScale), {}, ""), DeviceError);
  EXPECT_THROW(nvrtc_compile(source(kScale), {}, "86"), DeviceError);
}

TEST(Nvrtc, ListsTheArchitecturesOfCuda13) {
  const std::vector<std::string> archs = nvrtc_supported_archs();
  EXPECT_THAT(archs, Contains("sm_75"));
  EXPECT_THAT(archs, Contains("sm_120"));
}

TEST(Nvrtc, IsVersion13OrNewer) { EXPECT_GE(std::stod(nvrtc_version()), 13.0); }

}  // namespace
}  // namespace gemm_tune
