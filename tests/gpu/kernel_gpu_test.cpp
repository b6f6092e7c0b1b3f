// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <vector>

#include "gpu/compile/nvrtc.h"
#include "gpu/launch/kernel.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

constexpr const char* kRotate = R"(
extern "C" __global__ void gemm(const float* in, float* out, int n) {
  extern __shared__ float s[];
  s[n - 1 - threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[n - 1 - (threadIdx.x + 1) % blockDim.x];
}
)";

class KernelGpuTest : public GpuTest {
 protected:
  std::string cubin() {
    const CompileResult result =
        nvrtc_compile({"rotate.cu", kRotate, {}}, {}, query_device(0).arch);
    EXPECT_TRUE(result.ok) << result.log;
    return result.cubin;
  }
};

std::vector<float> on_host(const DeviceBuffer<float>& buffer) {
  std::vector<float> host(buffer.size());
  buffer.copy_to_host(host);
  return host;
}

TEST_F(KernelGpuTest, LaunchesWithSharedMemoryBeyond48Kilobytes) {
  LoadedKernel first(cubin());
  const LoadedKernel kernel = std::move(first);
  DeviceBuffer<float> in(64), out(64);
  std::vector<float> host(64);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i);
  in.copy_from_host(host);
  const Stream stream;
  const float* in_data = in.data();
  float* out_data = out.data();
  int n = 60 * 1024 / 4;
  void* args[] = {&in_data, &out_data, &n};
  kernel.launch({1}, 64, 60 * 1024, stream.get(), args);
  stream.synchronize();
  out.copy_to_host(host);
  EXPECT_EQ(host[0], 1.0F);
  EXPECT_EQ(host[62], 63.0F);
  EXPECT_EQ(host[63], 0.0F);
}

constexpr const char* kAddUp = R"(
extern "C" __global__ void gemm(const float* in, float* out, int n) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += in[(threadIdx.x + i) % blockDim.x];
  out[threadIdx.x] = sum / n + 1;
}
)";

TEST_F(KernelGpuTest, ALaunchThatBeginsEarlySeesWhatTheOneBeforeStored) {
  const std::string arch = query_device(0).arch;
  if (arch < "sm_90") GTEST_SKIP() << arch << " has no griddepcontrol";
  const CompileResult result = nvrtc_compile({"add_up.cu", kAddUp, {}}, {}, arch);
  ASSERT_TRUE(result.ok) << result.log;
  const LoadedKernel kernel(result.cubin);
  DeviceBuffer<float> a(64), b(64);
  const Stream stream;
  a.fill_bytes(0, stream.get());
  const auto chain = [&] {
    for (int i = 0; i < 100; ++i) {
      const float* in = i % 2 == 0 ? a.data() : b.data();
      float* out = i % 2 == 0 ? b.data() : a.data();
      int n = 1000;
      void* args[] = {&in, &out, &n};
      kernel.launch({1}, 64, 0, stream.get(), args, LoadedKernel::Begin::early);
    }
  };
  chain();
  stream.synchronize();
  const LaunchGraph graph(stream, chain);
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(on_host(a), std::vector<float>(64, 200.0F));
}

TEST_F(KernelGpuTest, LaunchesFromAThreadThatHasNoContextYet) {
  const LoadedKernel kernel(cubin());
  DeviceBuffer<float> in(64), out(64);
  in.copy_from_host(std::vector<float>(64, 1.5F));
  const Stream stream;
  const float* in_data = in.data();
  float* out_data = out.data();
  int n = 64;
  void* args[] = {&in_data, &out_data, &n};
  std::thread([&] {
    for (int i = 0; i < 2; ++i) kernel.launch({1}, 64, 256, stream.get(), args);
  }).join();
  stream.synchronize();
  EXPECT_EQ(on_host(out), std::vector<float>(64, 1.5F));
}

TEST_F(KernelGpuTest, FewerCtasFitWithMoreSharedMemory) {
  const LoadedKernel kernel(cubin());
  EXPECT_GE(kernel.max_active_ctas(64, 0), 8);
  EXPECT_EQ(kernel.max_active_ctas(64, query_device(0).max_smem_per_cta_bytes), 1);
}

TEST_F(KernelGpuTest, ARefusedLaunchIsACudaErrorAndTheNextOneWorks) {
  const LoadedKernel kernel(cubin());
  DeviceBuffer<float> in(64), out(64);
  const Stream stream;
  const float* in_data = in.data();
  float* out_data = out.data();
  int n = 64;
  void* args[] = {&in_data, &out_data, &n};
  EXPECT_THROW(kernel.launch({1}, 2048, 256, stream.get(), args), CudaError);
  EXPECT_NO_THROW(kernel.launch({1}, 64, 256, stream.get(), args));
  EXPECT_NO_THROW(stream.synchronize());
}

TEST_F(KernelGpuTest, RefusesBytesThatAreNoCubinAndAnUnknownEntry) {
  EXPECT_THROW(LoadedKernel(std::string(1000, 'x')), CudaError);
  EXPECT_THROW(LoadedKernel(cubin(), "no_such_entry"), CudaError);
}

}  // namespace
}  // namespace gemm_tune
