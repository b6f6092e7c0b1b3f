// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/launch/launch_recipe.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/stream.h"
#include "runtime/workspace.h"
#include "tests/gpu/gpu_test.h"

namespace gemm_tune {
namespace {

using WorkspaceGpuTest = GpuTest;

constexpr std::int64_t kTwoTiles = kWorkspaceCounterBytes + 2 * 64 * 64 * 4;

char* sums_of(const Workspace& workspace) {
  return static_cast<char*>(workspace.data()) + kWorkspaceCounterBytes;
}

TEST_F(WorkspaceGpuTest, ServesLaunchesThatNeedNone) {
  const Workspace none;
  EXPECT_EQ(none.bytes(), 0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_TRUE(none.is_clean());
}

TEST_F(WorkspaceGpuTest, BeginsWithZeroedCountersAndTellsWhenTheyAreNot) {
  const Stream stream;
  const Workspace workspace(kTwoTiles, stream.get());
  EXPECT_EQ(workspace.bytes(), 65536 + 32768);
  EXPECT_TRUE(workspace.is_clean());
  GT_CUDA(cudaMemsetAsync(sums_of(workspace) - 1, 1, 1, stream.get()));
  EXPECT_FALSE(workspace.is_clean());
}

TEST_F(WorkspaceGpuTest, PoisonsThePartialSumsOfALaunchAlone) {
  const Stream stream;
  const Workspace workspace(kTwoTiles, stream.get());
  GT_CUDA(cudaMemsetAsync(sums_of(workspace), 0, 32768, stream.get()));
  workspace.poison(kTwoTiles - 16384, stream.get());
  stream.synchronize();
  std::vector<float> partials(8192);
  GT_CUDA(cudaMemcpy(partials.data(), sums_of(workspace), 32768, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(std::isnan(partials[0]));
  EXPECT_TRUE(std::isnan(partials[4095]));
  EXPECT_EQ(partials[4096], 0.0F);
  EXPECT_TRUE(workspace.is_clean());
}

TEST_F(WorkspaceGpuTest, ACapturedOneBeginsEachRunOfItsGraphWithZeroedCounters) {
  const Stream stream;
  DeviceBuffer<char> seen(kWorkspaceCounterBytes);
  const LaunchGraph graph(stream, [&] {
    const CapturedWorkspace workspace(kTwoTiles, CapturedWorkspace::Counters::zero, stream.get());
    GT_CUDA(cudaMemcpyAsync(seen.data(), workspace.data(), kWorkspaceCounterBytes,
                            cudaMemcpyDeviceToDevice, stream.get()));
    GT_CUDA(cudaMemsetAsync(workspace.data(), 1, kTwoTiles, stream.get()));
  });
  for (int run = 0; run < 3; ++run) {
    seen.fill_bytes(0xff, stream.get());
    graph.launch(stream.get());
    stream.synchronize();
    std::vector<char> counters(kWorkspaceCounterBytes);
    seen.copy_to_host(counters);
    EXPECT_EQ(std::count(counters.begin(), counters.end(), '\0'), kWorkspaceCounterBytes);
  }
}

}  // namespace
}  // namespace gemm_tune
