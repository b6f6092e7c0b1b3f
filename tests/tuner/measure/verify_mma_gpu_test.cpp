// SPDX-License-Identifier: Apache-2.0
// mma before the verifier, on a GPU.
#include <optional>

#include "core/launch/launch_plan.h"
#include "gpu/launch/memory.h"
#include "gpu/launch/stream.h"
#include "runtime/compile.h"
#include "runtime/prepared_call.h"
#include "tests/gpu/gpu_test.h"
#include "tuner/measure/verify.h"

namespace gemm_tune {
namespace {

class VerifyMmaGpuTest : public GpuTest, public testing::WithParamInterface<const char*> {};

TEST_P(VerifyMmaGpuTest, IsRightAtSmallShapesAndAtALargeOne) {
  set_device(0);
  const DeviceSpec device = query_device(0);
  const KnownConfig config = check_config(parse_config(GetParam()));
  if (device.sm() < config.traits.least_sm) {
    GTEST_SKIP() << device.arch << " is older than the config's instructions";
  }
  const CompileResult compiled =
      compile_kernel(kernel_source(*config.family), config, COperand::in_place, device.arch);
  ASSERT_TRUE(compiled.ok) << compiled.log;
  const LoadedKernels kernels(compiled.cubin);
  const Stream stream;
  std::optional<DeviceBuffer<char>> workspace;  // of the last call
  const Gemm gemm = [&](const GemmCall& call) {
    const LaunchPlan plan = config.plan(call.problem, device.sm_count);
    if (plan.workspace_bytes > 0) {
      stream.synchronize();
      workspace.emplace(static_cast<std::size_t>(plan.workspace_bytes));
      workspace->fill_bytes(0, stream.get());
    }
    PreparedCall(kernels, plan).launch(call, workspace ? workspace->data() : nullptr, stream.get());
  };
  Verifier verifier(device, stream.get(), 7);
  std::vector<GemmCall> shapes = small_verification_shapes(config, device.sm_count);
  Problem large =
      packed_problem(1024, 2048, 4096, config.recipe.layout, 1, config.traits.signature);
  large.alignment = uniform_alignment(large.signature, config.traits.vec);
  shapes.push_back(shape_of(large));
  for (const GemmCall& shape : shapes) {
    EXPECT_EQ(verifier.check(gemm, shape), std::nullopt);
  }
  EXPECT_EQ(verifier.check_repeats(gemm, shapes.front()), std::nullopt);
  // A D that lacks the products of the last slice.
  const Gemm lacking = [&](GemmCall call) {
    call.problem.K -= config.traits.tile_k;
    gemm(call);
  };
  EXPECT_TRUE(verifier.check(lacking, shapes.back()));
}

INSTANTIATE_TEST_SUITE_P(
    Configs, VerifyMmaGpuTest,
    testing::Values("mma/AB=2,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,"
                    "RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=0",
                    "mma/AB=1,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=8,"
                    "RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1",
                    "mma/AB=2,CD=2,BM=32,BN=96,BK=32,WM=16,WN=48,MMA_K=16,STAGES=5,ASYNC=1,VEC=4,"
                    "RASTER=8,SPLIT_K=1,TA=1,TB=0,PRED=1",
                    "mma/AB=1,CD=1,BM=128,BN=128,BK=32,WM=64,WN=64,MMA_K=16,STAGES=4,ASYNC=1,VEC=2,"
                    "RASTER=8,SPLIT_K=1,TA=1,TB=1,PRED=1",
                    "mma/AB=0,CD=0,BM=128,BN=96,BK=16,WM=64,WN=48,MMA_K=8,STAGES=4,ASYNC=1,VEC=4,"
                    "RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1,ACCURACY=2",
                    "mma/AB=0,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=2,ASYNC=0,VEC=1,"
                    "RASTER=8,SPLIT_K=4,TA=1,TB=1,PRED=1,ACCURACY=2",
                    "mma/AB=1,CD=1,BM=128,BN=128,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,"
                    "RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1,ACCURACY=6"));

}  // namespace
}  // namespace gemm_tune
